DROP TABLE graph_edge;
DROP TABLE graph_name;
DELETE FROM counter WHERE name = 'name';
