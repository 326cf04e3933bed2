SELECT end_pgvector();
DROP FUNCTION begin_pgvector, use_pgvector, end_pgvector, near_place, signed_bytes, most_near;

CREATE OR REPLACE FUNCTION text_indexes() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN coalesce((SELECT value FROM store_setting WHERE name = 'text.memory'), 'postings') || ' '
        || coalesce((SELECT value FROM store_setting WHERE name = 'text.message'), 'postings');
END $$;
