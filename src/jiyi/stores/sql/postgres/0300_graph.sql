-- The graph: a view of memories with a subject, a relation and an object (SPEC G1–G3). What rules derive is in no table.

-- A name as memories write it. node is the name that stands for all names of the same thing.
CREATE TABLE graph_name (
    owner    bigint NOT NULL,
    seq      integer NOT NULL,
    node     integer NOT NULL,                         -- seq of a name of the same owner
    base     text COLLATE "C" NOT NULL,                -- the same for all names that are known for one
    spelling text NOT NULL,
    name     text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, seq)
) PARTITION BY HASH (owner);

-- A name may be as long as a memory, which is more than an index takes: its beginning leads to it.
CREATE INDEX graph_name_name ON graph_name (owner, left(name, 64));
CREATE INDEX graph_name_base ON graph_name (owner, left(base, 64));
CREATE INDEX graph_name_node ON graph_name (owner, node);

-- A memory as an edge between two names.
CREATE TABLE graph_edge (
    owner       bigint NOT NULL,
    memory      integer NOT NULL,
    subject     integer NOT NULL,                      -- numbers of names
    relation    text COLLATE "C" NOT NULL,
    object      integer NOT NULL,
    literal     boolean NOT NULL,
    source      text COLLATE "C" NOT NULL,
    start       double precision NOT NULL,
    affirmed_at bigint NOT NULL,
    valid_from  bigint NOT NULL,
    valid_to    bigint,
    mentions    integer NOT NULL,
    PRIMARY KEY (owner, memory)
) PARTITION BY HASH (owner);

-- From either end, with all that a question reads: no row of the table is touched.
CREATE INDEX graph_edge_out ON graph_edge (owner, subject, relation, memory DESC)
    INCLUDE (object, literal, source, start, affirmed_at, valid_from, valid_to, mentions);
CREATE INDEX graph_edge_in ON graph_edge (owner, object, relation, memory DESC)
    INCLUDE (subject, literal, source, start, affirmed_at, valid_from, valid_to, mentions);
CREATE INDEX graph_edge_relation ON graph_edge (owner, relation, memory);

SELECT make_partitions('graph_name'), make_partitions('graph_edge');
SELECT lock_rows('graph_name', true, false), lock_rows('graph_edge', true, false);
