DROP TABLE service_key;
DROP TABLE done_once;
