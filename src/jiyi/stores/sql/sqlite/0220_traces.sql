-- What recalls did, for a while (SPEC R10). A log: forgetting drops it, an export leaves it out.
CREATE TABLE trace (
    owner  INTEGER NOT NULL REFERENCES owner (number),
    at     INTEGER NOT NULL,
    id     TEXT NOT NULL,
    fields TEXT NOT NULL,           -- JSON: the question, its candidates and what became of them
    PRIMARY KEY (owner, at, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX trace_id ON trace (owner, id);
