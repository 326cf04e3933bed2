-- Vectors found by the extension pgvector, where the database has it (SPEC O2, R11). Nothing here needs it: begin_pgvector makes what
-- does, when it is asked to, and end_pgvector takes that away.
--
-- vector stays what it is, and is what is moved and backed up. vector_near holds the same numbers as the extension reads them; the
-- server itself keeps it equal, whoever writes. Numbers of one signed byte are exact in a halfvec, and products of so many as
-- are added up at once (1,024) are whole numbers below 2^24, exact in whichever order: so scores are those of any other store.

CREATE FUNCTION signed_bytes(packed bytea) RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ARRAY(SELECT (get_byte(packed, place) + 128) % 256 - 128 FROM generate_series(0, length(packed) - 1) AS place)
$$;

-- Of more numbers there is no row, and they are compared without the extension: a row that has no room in a page is read slowly.
CREATE FUNCTION most_near() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 4000;

-- The schema of the type that vector_near is made of, wherever the extension was moved to; nothing where the extension was dropped,
-- which takes the column along, also when it has come back since.
CREATE FUNCTION near_place() RETURNS text LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (SELECT nspname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid JOIN pg_namespace ON pg_namespace.oid = typnamespace
            WHERE attrelid = to_regclass('vector_near') AND attname = 'numbers');
END $$;

CREATE FUNCTION begin_pgvector() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $begin$
BEGIN
    EXECUTE format($$
        CREATE TABLE vector_near (
            owner   bigint NOT NULL,
            vset    bigint NOT NULL,
            kind    smallint NOT NULL,
            seq     integer NOT NULL,
            square  double precision NOT NULL,
            numbers %I.halfvec NOT NULL,
            PRIMARY KEY (owner, vset, kind, seq)
        ) PARTITION BY HASH (owner) $$,
        (SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'));
    PERFORM make_partitions('vector_near');
    FOR remainder IN 0..15 LOOP
        EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = 8160)', 'vector_near_p' || remainder);
    END LOOP;
    PERFORM lock_rows('vector_near', true, false);
    -- Neither function names the type, so both work wherever it is: an assignment casts to that of the column. Without it
    -- writing goes on.
    CREATE FUNCTION keep_near() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM vector_near
            WHERE owner = OLD.owner AND vset = OLD.vset AND kind = OLD.kind AND seq = OLD.seq;
        END IF;
        IF TG_OP <> 'DELETE' AND length(NEW.numbers) <= most_near() AND near_place() IS NOT NULL THEN
            INSERT INTO vector_near
            VALUES (NEW.owner, NEW.vset, NEW.kind, NEW.seq, NEW.square, signed_bytes(NEW.numbers));
        END IF;
        RETURN NULL;
    END $body$;
    CREATE TRIGGER keep_near AFTER INSERT OR UPDATE OR DELETE ON vector FOR EACH ROW EXECUTE FUNCTION keep_near();
    -- What was there before, of one owner, whom the caller holds.
    CREATE FUNCTION fill_near(of_owner bigint) RETURNS bigint LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    DECLARE
        come bigint;
    BEGIN
        DELETE FROM vector_near WHERE owner = of_owner;
        INSERT INTO vector_near
        SELECT owner, vset, kind, seq, square, signed_bytes(numbers)
        FROM vector WHERE owner = of_owner AND length(numbers) <= most_near();
        GET DIAGNOSTICS come = ROW_COUNT;
        RETURN come;
    END $body$;
    REVOKE ALL ON FUNCTION keep_near, fill_near FROM PUBLIC;
END $begin$;

-- The search. That it is there says that vector_near is whole, and is what searches go by (text_indexes).
CREATE FUNCTION use_pgvector() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $use$
BEGIN
    CREATE FUNCTION nearest(of_set bigint, of_kind integer, asked text, dimension integer, asked_square float8, most bigint)
    RETURNS TABLE (seq integer, score bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET jit TO off AS $body$
    DECLARE
        place text := quote_ident(near_place());
        product text := format('(numbers OPERATOR(%1$s.<#>) $5::%1$s.halfvec)', place);
    BEGIN
        IF dimension > 1024 THEN
            SELECT string_agg(format('(%1$s.subvector(numbers, %2$s, 1024) OPERATOR(%1$s.<#>)'
                                     ' %1$s.subvector($5::%1$s.halfvec, %2$s, 1024))', place, 1 + 1024 * part), ' + ')
            INTO product FROM generate_series(0, (dimension - 1) / 1024) AS part;
        END IF;
        -- As text, so that each call is planned for its owner: for one partition. <#> is the product with a minus before it.
        RETURN QUERY EXECUTE '
            SELECT seq, floor(-(' || product || ') / sqrt(greatest(square * $4, 1::float8)) * 10000::float8 + 0.5::float8)::bigint
            FROM vector_near WHERE owner = $1 AND vset = $2 AND kind = $3 ORDER BY 2 DESC, 1 DESC LIMIT $6'
        USING entered(), of_set, of_kind, asked_square, asked, most;
    END $body$;
    REVOKE ALL ON FUNCTION nearest FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION nearest TO jiyi_app;
END $use$;

CREATE FUNCTION end_pgvector() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DROP FUNCTION IF EXISTS nearest;
    DROP TRIGGER IF EXISTS keep_near ON vector;
    DROP FUNCTION IF EXISTS keep_near, fill_near;
    DROP TABLE IF EXISTS vector_near;
END $$;

-- A third word: what finds vectors. The type may be gone, or where the application may not look for it: then it does without.
CREATE OR REPLACE FUNCTION text_indexes() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN coalesce((SELECT value FROM store_setting WHERE name = 'text.memory'), 'postings') || ' '
        || coalesce((SELECT value FROM store_setting WHERE name = 'text.message'), 'postings') || ' '
        || CASE WHEN to_regproc('nearest') IS NOT NULL AND has_schema_privilege('jiyi_app', near_place(), 'USAGE')
                THEN 'pgvector' ELSE 'chunks' END;
END $$;

REVOKE ALL ON FUNCTION begin_pgvector, use_pgvector, end_pgvector FROM PUBLIC;
