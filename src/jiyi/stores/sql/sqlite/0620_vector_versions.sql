-- Which chunks a kind of a set has, as one number: another one with each change, whoever makes it, and never the same again. Who
-- has read the chunks at one version knows by it that nothing has changed. New vectors, which are rows, change nothing of it.
CREATE TABLE vector_version (
    vset    INTEGER NOT NULL REFERENCES vector_set (number),
    kind    INTEGER NOT NULL,
    version INTEGER NOT NULL,              -- random; no row: nothing has changed since there are versions
    PRIMARY KEY (vset, kind)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER vector_chunk_added AFTER INSERT ON vector_chunk BEGIN
    INSERT INTO vector_version (vset, kind, version) VALUES (new.vset, new.kind, random())
    ON CONFLICT (vset, kind) DO UPDATE SET version = excluded.version;
END;

CREATE TRIGGER vector_chunk_changed AFTER UPDATE ON vector_chunk BEGIN
    INSERT INTO vector_version (vset, kind, version) VALUES (new.vset, new.kind, random())
    ON CONFLICT (vset, kind) DO UPDATE SET version = excluded.version;
END;

CREATE TRIGGER vector_chunk_gone AFTER DELETE ON vector_chunk BEGIN
    INSERT INTO vector_version (vset, kind, version) VALUES (old.vset, old.kind, random())
    ON CONFLICT (vset, kind) DO UPDATE SET version = excluded.version;
END;
