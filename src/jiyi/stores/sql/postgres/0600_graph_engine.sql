-- A graph engine beside the database, which follows it (SPEC G4, O3). Numbers alone: no word waits here.

-- How far an engine has followed the graph of an owner. No row: none follows.
CREATE TABLE graph_feed (
    owner   bigint NOT NULL,
    version text COLLATE "C" NOT NULL,                 -- of the graph; another one with each change
    told    text COLLATE "C" NOT NULL,                 -- that the engine has; empty: everything has to be told
    PRIMARY KEY (owner)
) PARTITION BY HASH (owner);

CREATE INDEX graph_feed_lagging ON graph_feed (owner) WHERE told <> version;

-- The memories whose edges the engine has not heard of, with the version of the last change.
CREATE TABLE graph_outbox (
    owner   bigint NOT NULL,
    memory  integer NOT NULL,                          -- number of a memory, which may be gone
    version text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, memory)
) PARTITION BY HASH (owner);

SELECT make_partitions('graph_feed'), make_partitions('graph_outbox');
SELECT lock_rows('graph_feed', true, true), lock_rows('graph_outbox', true, true);
