-- The graph: a view of memories with a subject, a relation and an object (SPEC G1–G3). What rules derive is in no table.

-- A name as memories write it. node is the name that stands for all names of the same thing.
CREATE TABLE graph_name (
    key      INTEGER PRIMARY KEY,
    owner    INTEGER NOT NULL REFERENCES owner (number),
    node     INTEGER NOT NULL,             -- key of a name of the same owner
    base     TEXT NOT NULL,                -- the same for all names that are known for one
    spelling TEXT NOT NULL,
    name     TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX graph_name_name ON graph_name (owner, name);
CREATE INDEX graph_name_base ON graph_name (owner, base);
CREATE INDEX graph_name_node ON graph_name (node);

-- A memory as an edge between two names.
CREATE TABLE graph_edge (
    memory      INTEGER PRIMARY KEY,       -- key of the memory
    owner       INTEGER NOT NULL REFERENCES owner (number),
    subject     INTEGER NOT NULL REFERENCES graph_name (key),
    relation    TEXT NOT NULL,
    object      INTEGER NOT NULL REFERENCES graph_name (key),
    literal     INTEGER NOT NULL,
    source      TEXT NOT NULL,
    start       REAL NOT NULL,
    affirmed_at INTEGER NOT NULL,
    valid_from  INTEGER NOT NULL,
    valid_to    INTEGER,
    mentions    INTEGER NOT NULL
) STRICT;

-- From either end, with all that a question reads: no row of the table is touched.
CREATE INDEX graph_edge_out ON graph_edge
    (subject, relation, memory DESC, object, literal, source, start, affirmed_at, valid_from, valid_to, mentions);
CREATE INDEX graph_edge_in ON graph_edge
    (object, relation, memory DESC, subject, literal, source, start, affirmed_at, valid_from, valid_to, mentions);
CREATE INDEX graph_edge_relation ON graph_edge (owner, relation, memory);
