-- The text index native (SPEC O2): the terms of each text in a tsvector, found through GIN. store_setting names the kinds that it
-- indexes instead of posting.
--
-- A lexeme is the owner in hexadecimal, a letter for the kind, and a term as in posting: a 48-bit hash keyed with the store's
-- secret, in base 64. So the list that GIN keeps for a lexeme is of one owner and kind, and no word is in it. Positions only count:
-- how many of weight D are the ones of a number to base 64, those of C, B and A its higher digits.
CREATE TABLE native_text (
    owner bigint NOT NULL,
    kind  smallint NOT NULL,                           -- as in posting
    seq   integer NOT NULL,
    part  smallint NOT NULL,                           -- from 0; more than one for a text of very many terms
    len   integer NOT NULL,                            -- terms of the text in all
    terms tsvector NOT NULL,
    PRIMARY KEY (owner, kind, seq, part)
) PARTITION BY HASH (owner);

-- Without the list of what is yet to be entered, which every search would read whole.
CREATE INDEX native_text_terms ON native_text USING gin (terms) WITH (fastupdate = off);

SELECT make_partitions('native_text');
SELECT lock_rows('native_text', true, false);

-- Whether @@ is true may be told by an error, PostgreSQL holds, so under row-level security it is not asked of an index. These two
-- functions pass that lock as the owner of the table, and hold to the scope that was entered themselves. As text, so that each
-- call is planned for its owner: for one partition.
CREATE FUNCTION native_count(of_kind integer, lexemes text[]) RETURNS TABLE (lexeme text, holders bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY EXECUTE '
        SELECT wanted, held.holders
        FROM unnest($3) AS wanted, LATERAL (
            SELECT count(*) AS holders FROM native_text
            WHERE owner = $1 AND kind = $2 AND terms @@ quote_literal(wanted)::tsquery) AS held'
    USING entered(), of_kind, lexemes;
END $$;

-- BM25 of the formula's parts: what a lexeme gains, what is added to how often it stands, and by how much more for each term of the
-- text. The best first, in whole quanta, with the bits of what matched. ts_rank_cd of one lexeme is the sum of its weights.
CREATE FUNCTION native_search(
    of_kind integer, lexemes text[], bits bigint[], gains float8[], base float8, slope float8, quantum float8, most bigint
) RETURNS TABLE (seq integer, score bigint, matched bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY EXECUTE '
        SELECT held.seq, trunc(sum(gain * tf / (tf + $6 + $7 * len)) * $8 + 0.5::float8)::bigint AS score, sum(bit)::bigint
        FROM unnest($3, $4, $5) AS q (lexeme, bit, gain), LATERAL (
            SELECT t.seq, len, ts_rank_cd(''{3.814697265625e-06,0.000244140625,0.015625,1}'', terms, quote_literal(lexeme)::tsquery)
                               * 262144::float8 AS tf
            FROM native_text AS t
            WHERE owner = $1 AND kind = $2 AND terms @@ quote_literal(lexeme)::tsquery OFFSET 0) AS held
        GROUP BY held.seq
        ORDER BY score DESC, held.seq DESC
        LIMIT $9'
    USING entered(), of_kind, lexemes, bits, gains, base, slope, quantum, most;
END $$;

-- Which index the texts of memories and of messages have, as one row of store_setting each. Volatile: it is asked when a scope was
-- entered, and sees what whoever held the scope before has changed.
CREATE FUNCTION text_indexes() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN coalesce((SELECT value FROM store_setting WHERE name = 'text.memory'), 'postings') || ' '
        || coalesce((SELECT value FROM store_setting WHERE name = 'text.message'), 'postings');
END $$;

REVOKE ALL ON FUNCTION native_count, native_search, text_indexes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION native_count, native_search, text_indexes TO jiyi_app;
