-- Core schema: scopes, messages, memories, ledger, jobs, and the posting text index.
--
-- owner     one scope (tenant, user). Its number is never used again, so that a number which another
--           process remembers can never come to mean another user.
-- key       owner << 24 | seq: one owner's rows lie side by side, and a row of another owner cannot be
--           named with a number of this one. seq counts from 1 within an owner and a kind.
-- instants  microseconds since 1970-01-01 UTC.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the store knows about itself: secret (hex), text.memory and text.message (the text index in use).
CREATE TABLE store_setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE owner (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    user   TEXT NOT NULL,
    UNIQUE (tenant, user)
) STRICT;

-- Last number given out (message, memory, plan), message number indexed up to (indexed), and the size of the
-- text index (memory.documents, memory.length, message.documents, message.length).
CREATE TABLE counter (
    owner INTEGER NOT NULL REFERENCES owner (number),
    name  TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- ------------------------------------------------------------------------------------- messages

CREATE TABLE message (
    key        INTEGER PRIMARY KEY,
    owner      INTEGER NOT NULL REFERENCES owner (number),
    id         TEXT NOT NULL,              -- the caller's own
    session    TEXT NOT NULL,
    role       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    utc_offset INTEGER NOT NULL,           -- seconds east of UTC in which the instant was said
    name       TEXT,
    labels     TEXT,                       -- JSON object
    forgotten  INTEGER NOT NULL DEFAULT 0,
    altered    INTEGER NOT NULL DEFAULT 0,
    text       TEXT NOT NULL               -- last, so that scans of the rest skip overflow pages
) STRICT;

CREATE UNIQUE INDEX message_id ON message (owner, id);
CREATE INDEX message_at ON message (owner, at) WHERE forgotten = 0;
CREATE INDEX message_session ON message (owner, session, at) WHERE forgotten = 0;

-- ------------------------------------------------------------------------------------- memories

CREATE TABLE memory (
    key         INTEGER PRIMARY KEY,
    owner       INTEGER NOT NULL REFERENCES owner (number),
    status      TEXT NOT NULL,
    category    TEXT NOT NULL,
    importance  INTEGER NOT NULL,
    source      TEXT NOT NULL,
    start       REAL NOT NULL,             -- confidence when affirmed
    affirmed_at INTEGER NOT NULL,
    valid_from  INTEGER NOT NULL,
    valid_to    INTEGER,
    learnt_at   INTEGER NOT NULL,
    retired_at  INTEGER,
    changed_at  INTEGER,
    successor   INTEGER,                   -- seq of the memory that replaced it
    kept        INTEGER NOT NULL,
    unasked     INTEGER NOT NULL,          -- the user did not want to decide about it
    language    TEXT NOT NULL,
    fact        TEXT NOT NULL,             -- subject|relation, empty without a triple
    value       TEXT NOT NULL,             -- folded object or text, for comparing
    subject     TEXT,                      -- the triple as it was said, or four NULLs
    relation    TEXT,
    object      TEXT,
    negated     INTEGER,
    keywords    TEXT NOT NULL,             -- JSON array
    text        TEXT NOT NULL
) STRICT;

CREATE INDEX memory_fact ON memory (owner, fact, status) WHERE fact <> '';
CREATE INDEX memory_value ON memory (owner, value) WHERE fact = '';
-- What the user may be asked about: few of many.
CREATE INDEX memory_unsettled ON memory (owner, key)
    WHERE status = 'held' OR (status = 'live' AND source IN ('inferred', 'verified'));
CREATE INDEX memory_relation ON memory (owner, relation, status, affirmed_at) WHERE relation IS NOT NULL;

CREATE TABLE evidence (
    memory     INTEGER NOT NULL REFERENCES memory (key) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    message    INTEGER NOT NULL,           -- key of the message; number 0 when it was told outright
    span_start INTEGER NOT NULL,
    span_end   INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    session    TEXT NOT NULL,
    mode       TEXT NOT NULL,              -- how it was said, on whose word, and how sure that was
    source     TEXT NOT NULL,
    trust      REAL NOT NULL,
    until      INTEGER,
    own        INTEGER NOT NULL,
    PRIMARY KEY (memory, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_message ON evidence (message, memory);

-- Narrow and apart: it changes with reading, the memory does not.
CREATE TABLE heat (
    memory INTEGER PRIMARY KEY REFERENCES memory (key) ON DELETE CASCADE,
    visits REAL NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

-- ------------------------------------------------------------------------------------- text index

-- An inverted index that knows no words: term is a 48-bit hash keyed with the store's secret.
CREATE TABLE posting (
    owner INTEGER NOT NULL,
    kind  INTEGER NOT NULL,                -- 1 memory, 2 message
    term  INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    tf    INTEGER NOT NULL,                -- times the term stands in the text
    len   INTEGER NOT NULL,                -- terms of the text in all
    PRIMARY KEY (owner, kind, term, seq)
) STRICT, WITHOUT ROWID;

-- ------------------------------------------------------------------------------------- ledger

-- The row stays for good; words and pictures lie apart, so that forgetting can delete them (SPEC F6).
CREATE TABLE ledger (
    key       INTEGER PRIMARY KEY,         -- owner << 24 | plan number
    at        INTEGER NOT NULL,
    verb      TEXT NOT NULL,
    actor     TEXT NOT NULL,
    surface   TEXT NOT NULL,
    undoes    INTEGER,
    forgotten INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE ledger_words (
    plan       INTEGER PRIMARY KEY REFERENCES ledger (key),
    reason     TEXT NOT NULL,
    judgements TEXT NOT NULL               -- JSON array
) STRICT;

CREATE TABLE ledger_change (
    plan     INTEGER NOT NULL REFERENCES ledger (key),
    position INTEGER NOT NULL,
    memory   INTEGER NOT NULL,             -- key of the memory, which may be gone
    before   TEXT,                         -- JSON pictures
    after    TEXT,
    PRIMARY KEY (plan, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_change_memory ON ledger_change (memory, plan);

-- ------------------------------------------------------------------------------------- jobs

CREATE TABLE job (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    owner     INTEGER NOT NULL REFERENCES owner (number),
    turn      INTEGER NOT NULL,            -- place in the queue; a revived job takes a new one
    state     TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'dead')),
    -- When it may be claimed: when a running job's lease ends, when a failed one is tried again. Only the first
    -- job of an owner's queue has it, so what waits behind it costs nothing when the next job is looked for.
    due_at    INTEGER,
    attempt   INTEGER NOT NULL DEFAULT 0,
    queued_at INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    payload   TEXT NOT NULL,               -- JSON object, no memory text
    error     TEXT,
    died_at   INTEGER
) STRICT;

CREATE INDEX job_turn ON job (turn);
CREATE INDEX job_queue ON job (owner, turn) WHERE state <> 'dead';
CREATE INDEX job_first ON job (turn, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX job_dead ON job (owner, died_at) WHERE state = 'dead';
