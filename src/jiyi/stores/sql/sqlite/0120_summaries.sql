-- Summaries: digests of a session or of a stretch of it, made from messages and from nothing else (SPEC R6).

CREATE TABLE summary (
    key      INTEGER PRIMARY KEY,
    owner    INTEGER NOT NULL REFERENCES owner (number),
    session  TEXT NOT NULL,
    block    INTEGER NOT NULL,             -- 0 the whole session, else the number of the stretch
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    language TEXT NOT NULL,
    made_at  INTEGER NOT NULL,
    method   TEXT NOT NULL,
    points   TEXT NOT NULL                 -- JSON array of [kind, text, message, start, end]
) STRICT;

CREATE UNIQUE INDEX summary_span ON summary (owner, session, block);

-- The messages a summary was made from, for forgetting.
CREATE TABLE summary_message (
    summary INTEGER NOT NULL REFERENCES summary (key) ON DELETE CASCADE,
    message INTEGER NOT NULL,              -- key of the message
    PRIMARY KEY (summary, message)
) STRICT, WITHOUT ROWID;

CREATE INDEX summary_message_message ON summary_message (message, summary);
