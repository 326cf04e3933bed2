DROP TABLE copy;
DROP TABLE tombstone;
DROP TABLE forgetting;
