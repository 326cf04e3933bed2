-- Jobs that wait for a language model have a queue of their own: lane is 'quick', or 'slow' for those.
ALTER TABLE job ADD COLUMN lane TEXT NOT NULL DEFAULT 'quick';

DROP INDEX job_queue;
CREATE INDEX job_queue ON job (owner, lane, turn) WHERE state <> 'dead';

-- How far sessions were cut into the segments that a model reads, one row each: the open segment begins with this
-- message, or there is none and the next one begins behind it.
CREATE TABLE segment (
    message INTEGER PRIMARY KEY REFERENCES message (key) ON DELETE CASCADE,
    behind  INTEGER NOT NULL
) STRICT;

-- Calls of a language model. No word of what was asked or said, and nothing but a number of whose it was: what was
-- spent stays true when a user is forgotten.
CREATE TABLE model_call (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    owner      INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    job        INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    model      TEXT NOT NULL,
    tokens_in  INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost       REAL NOT NULL,
    seconds    REAL NOT NULL,
    outcome    TEXT NOT NULL               -- 'ok', or the kind of error
) STRICT;

CREATE INDEX model_call_at ON model_call (at);
