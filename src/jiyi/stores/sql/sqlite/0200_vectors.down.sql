DROP TABLE vector_outbox;
DROP TABLE vector_chunk;
DROP TABLE vector_fresh;
DROP TABLE vector_set;
