DROP TABLE graph_outbox;
DROP TABLE graph_feed;
