DROP FUNCTION native_count, native_search, text_indexes;
DROP TABLE native_text;
-- What it indexed is in no index now: the next opening says so, and `jiyi reindex` makes it again.
UPDATE meta SET value = '(a rebuild that did not finish)'
WHERE name = 'segmenter' AND EXISTS (SELECT 1 FROM store_setting WHERE name LIKE 'text.%' AND value = 'native');
DELETE FROM store_setting WHERE name LIKE 'text.%';
