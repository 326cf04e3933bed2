-- Feedback (SPEC R8): what is to be asked about, and by how much importance was raised or lowered.
ALTER TABLE memory ADD COLUMN doubted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN nudge INTEGER NOT NULL DEFAULT 0;

DROP INDEX memory_unsettled;
CREATE INDEX memory_unsettled ON memory (owner, key)
    WHERE status = 'held' OR (status = 'live' AND (source IN ('inferred', 'verified') OR doubted = 1));
