-- What each user decided about their memory as a whole (SPEC C5), and its changes in the ledger.

CREATE TABLE standing (
    owner      INTEGER PRIMARY KEY REFERENCES owner (number),
    detail     TEXT,                       -- minimal, balanced, everything; NULL where the user chose none
    detail_at  INTEGER,
    paused_at  INTEGER,                    -- NULL while not paused
    consent    INTEGER,                    -- 1 given, 0 refused or withdrawn
    notice     TEXT,                       -- which data-use notice that was about
    consent_at INTEGER
) STRICT;

-- Apart from the pictures of memories, and not erased with them: no word of talk is in it.
CREATE TABLE ledger_standing (
    plan   INTEGER PRIMARY KEY REFERENCES ledger (key),
    before TEXT NOT NULL,                  -- JSON pictures
    after  TEXT NOT NULL
) STRICT;

-- What a span of talk was about, in the place of what was said.
ALTER TABLE message ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
