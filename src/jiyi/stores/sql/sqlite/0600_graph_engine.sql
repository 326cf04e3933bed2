-- A graph engine beside the database, which follows it (SPEC G4, O3). Numbers alone: no word waits here.

-- How far an engine has followed the graph of an owner. No row: none follows.
CREATE TABLE graph_feed (
    owner   INTEGER PRIMARY KEY REFERENCES owner (number),
    version TEXT NOT NULL,                 -- of the graph; another one with each change
    told    TEXT NOT NULL                  -- that the engine has; empty: everything has to be told
) STRICT;

CREATE INDEX graph_feed_lagging ON graph_feed (owner) WHERE told <> version;

-- The memories whose edges the engine has not heard of, with the version of the last change.
CREATE TABLE graph_outbox (
    memory  INTEGER PRIMARY KEY,           -- key of a memory, which may be gone
    version TEXT NOT NULL
) STRICT;
