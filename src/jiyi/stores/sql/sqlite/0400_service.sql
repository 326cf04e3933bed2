-- What was asked for under a key and is done (SPEC S5), and the keys of services (SPEC S2). Neither holds words of a memory.
CREATE TABLE done_once (
    owner   INTEGER NOT NULL REFERENCES owner (number),
    key     BLOB NOT NULL,
    at      INTEGER NOT NULL,
    request BLOB NOT NULL,          -- a keyed hash of what was asked; empty after a forgetting
    outcome TEXT NOT NULL,          -- JSON: numbers of plans and messages
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX done_once_at ON done_once (owner, at);

CREATE TABLE service_key (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    tenant     TEXT NOT NULL,
    roles      TEXT NOT NULL,       -- a JSON list
    digest     BLOB NOT NULL,       -- SHA-256 of the secret
    made_at    INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
