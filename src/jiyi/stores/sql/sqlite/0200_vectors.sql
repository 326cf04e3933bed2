-- Vectors: a view of memories, messages and summaries that an embedding model made (SPEC R11).

-- The vectors of one owner and model. Numbers are never used twice: what lies outside names them.
CREATE TABLE vector_set (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    owner     INTEGER NOT NULL REFERENCES owner (number),
    model     TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    upto      INTEGER NOT NULL DEFAULT 0,  -- messages have vectors up to this number
    UNIQUE (owner, model)
) STRICT;

-- New vectors, one a row. 256 of a kind are folded into a chunk.
CREATE TABLE vector_fresh (
    vset    INTEGER NOT NULL REFERENCES vector_set (number),
    kind    INTEGER NOT NULL,              -- as in posting
    seq     INTEGER NOT NULL,
    square  INTEGER NOT NULL,              -- sum of the squares of the numbers
    numbers BLOB NOT NULL,                 -- int8
    PRIMARY KEY (vset, kind, seq)
) STRICT, WITHOUT ROWID;

-- Up to 256 vectors side by side; the long column last, so that looking for a number does not read it.
CREATE TABLE vector_chunk (
    id      INTEGER PRIMARY KEY,
    vset    INTEGER NOT NULL REFERENCES vector_set (number),
    kind    INTEGER NOT NULL,
    first   INTEGER NOT NULL,              -- lowest and highest number in it
    last    INTEGER NOT NULL,
    seqs    BLOB NOT NULL,                 -- little-endian uint32
    squares BLOB NOT NULL,
    numbers BLOB NOT NULL
) STRICT;

-- What a vector engine beside the database has not heard of yet: number 0 stands for the whole set. Empty without one.
CREATE TABLE vector_outbox (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    vset INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    seq  INTEGER NOT NULL
) STRICT;

CREATE INDEX vector_outbox_place ON vector_outbox (vset, kind);

CREATE INDEX vector_chunk_place ON vector_chunk (vset, kind, first, last);
