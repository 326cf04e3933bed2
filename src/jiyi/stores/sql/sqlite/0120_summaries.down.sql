DROP INDEX summary_message_message;
DROP TABLE summary_message;
DROP INDEX summary_span;
DROP TABLE summary;
DELETE FROM posting WHERE kind = 3;
DELETE FROM counter WHERE name IN ('summary', 'summary.documents', 'summary.length', 'distiller');
