-- What forgetting leaves behind (SPEC F6): receipts without words, tombstones, and the copies that were made.

CREATE TABLE forgetting (
    key         INTEGER PRIMARY KEY,       -- owner << 24 | number of the receipt
    owner       INTEGER NOT NULL REFERENCES owner (number),
    plan        INTEGER NOT NULL,          -- number of its ledger row
    at          INTEGER NOT NULL,
    horizon     INTEGER NOT NULL,          -- latest instant of a tombstone of it
    reach       TEXT NOT NULL,             -- memory, topic, session, time, everything
    erased      TEXT NOT NULL,             -- JSON object: counts by kind
    copies      TEXT NOT NULL,             -- JSON array of [kind, path, at]
    verified_at INTEGER,
    returned    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A keyed hash of what was forgotten, and up to when: what is said later is said anew.
CREATE TABLE tombstone (
    owner   INTEGER NOT NULL REFERENCES owner (number),
    mark    TEXT NOT NULL,                 -- id, text, sentence, words, topic, value, relation
    digest  BLOB NOT NULL,
    length  INTEGER NOT NULL,              -- folded characters of words and topics, else 0
    at      INTEGER NOT NULL,
    receipt INTEGER NOT NULL,
    PRIMARY KEY (owner, mark, digest)
) STRICT, WITHOUT ROWID;

-- Backups (of the whole database, without owner) and exports that forgetting cannot reach.
CREATE TABLE copy (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner  INTEGER REFERENCES owner (number),
    kind   TEXT NOT NULL,
    path   TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;
