DROP TRIGGER vector_chunk_gone;
DROP TRIGGER vector_chunk_changed;
DROP TRIGGER vector_chunk_added;
DROP TABLE vector_version;
