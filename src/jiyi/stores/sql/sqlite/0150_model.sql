-- Jobs that wait for a language model have a queue of their own, and jobs can wait for an instant.
--
-- lane        'quick', or 'slow' for what waits for a model
-- not_before  a job that was never tried is not due before this instant
ALTER TABLE job ADD COLUMN lane TEXT NOT NULL DEFAULT 'quick';
ALTER TABLE job ADD COLUMN not_before INTEGER;

DROP INDEX job_queue;
CREATE INDEX job_queue ON job (owner, lane, turn) WHERE state <> 'dead';

-- How far sessions were cut into the segments that a model reads: the open one begins with this message, or behind it.
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
