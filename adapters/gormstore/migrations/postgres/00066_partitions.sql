-- Deliveries are kept in partitions by ranges of occurrences, so that old ones go with their partition instead of row by row. What is
-- there becomes the first partition as it is: no row is read or written. The program adds the others (partitions.go).

-- +goose Up
-- +goose StatementBegin
LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE;
ALTER TABLE deliveries RENAME TO deliveries_first;
ALTER INDEX deliveries_pkey RENAME TO deliveries_first_pkey;
ALTER INDEX deliveries_once RENAME TO deliveries_first_once;
ALTER INDEX deliveries_occurrence RENAME TO deliveries_first_occurrence;
ALTER INDEX deliveries_waiting RENAME TO deliveries_first_waiting;
ALTER INDEX deliveries_due RENAME TO deliveries_first_due;
ALTER INDEX deliveries_member RENAME TO deliveries_first_member;
ALTER INDEX deliveries_member_failed RENAME TO deliveries_first_member_failed;
ALTER INDEX deliveries_reason RENAME TO deliveries_first_reason;
ALTER INDEX deliveries_left_out RENAME TO deliveries_first_left_out;
CREATE TABLE deliveries (LIKE deliveries_first INCLUDING DEFAULTS INCLUDING IDENTITY) PARTITION BY RANGE (occurrence_id);
SELECT setval(pg_get_serial_sequence('deliveries', 'id'), last_value, is_called) FROM deliveries_id_seq;
ALTER TABLE deliveries_first ALTER COLUMN id DROP IDENTITY;
ALTER SEQUENCE deliveries_id_seq1 RENAME TO deliveries_id_seq;
ALTER TABLE deliveries ATTACH PARTITION deliveries_first FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
-- Each partition has its own primary key, which is not here because it does not contain the occurrence.
CREATE UNIQUE INDEX deliveries_once ON ONLY deliveries (occurrence_id, notification_id, protocol, address_key) WHERE chosen;
CREATE INDEX deliveries_occurrence ON ONLY deliveries (occurrence_id, state, id);
CREATE INDEX deliveries_waiting ON ONLY deliveries (channel_id, priority, project_id, turn, id) WHERE turn IS NOT NULL;
CREATE INDEX deliveries_due ON ONLY deliveries (channel_id, priority, next_at, id) WHERE turn IS NULL AND state < 3;
CREATE INDEX deliveries_member ON ONLY deliveries (member_id, occurrence_id);
CREATE INDEX deliveries_member_failed ON ONLY deliveries (member_id, occurrence_id) WHERE state = 4;
CREATE INDEX deliveries_reason ON ONLY deliveries (occurrence_id, reason, id) WHERE state = 5;
CREATE INDEX deliveries_left_out ON ONLY deliveries (occurrence_id, address_key, id) WHERE NOT chosen;
ALTER INDEX deliveries_once ATTACH PARTITION deliveries_first_once;
ALTER INDEX deliveries_occurrence ATTACH PARTITION deliveries_first_occurrence;
ALTER INDEX deliveries_waiting ATTACH PARTITION deliveries_first_waiting;
ALTER INDEX deliveries_due ATTACH PARTITION deliveries_first_due;
ALTER INDEX deliveries_member ATTACH PARTITION deliveries_first_member;
ALTER INDEX deliveries_member_failed ATTACH PARTITION deliveries_first_member_failed;
ALTER INDEX deliveries_reason ATTACH PARTITION deliveries_first_reason;
ALTER INDEX deliveries_left_out ATTACH PARTITION deliveries_first_left_out;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE;
ALTER TABLE deliveries RENAME TO deliveries_parts;
ALTER INDEX deliveries_once RENAME TO deliveries_parts_once;
ALTER INDEX deliveries_occurrence RENAME TO deliveries_parts_occurrence;
ALTER INDEX deliveries_waiting RENAME TO deliveries_parts_waiting;
ALTER INDEX deliveries_due RENAME TO deliveries_parts_due;
ALTER INDEX deliveries_member RENAME TO deliveries_parts_member;
ALTER INDEX deliveries_member_failed RENAME TO deliveries_parts_member_failed;
ALTER INDEX deliveries_reason RENAME TO deliveries_parts_reason;
ALTER INDEX deliveries_left_out RENAME TO deliveries_parts_left_out;
CREATE TABLE deliveries (LIKE deliveries_parts INCLUDING DEFAULTS INCLUDING IDENTITY, CONSTRAINT deliveries_pkey PRIMARY KEY (id));
ALTER TABLE deliveries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
INSERT INTO deliveries SELECT * FROM deliveries_parts;
SELECT setval(pg_get_serial_sequence('deliveries', 'id'), last_value, is_called) FROM deliveries_id_seq;
CREATE UNIQUE INDEX deliveries_once ON deliveries (occurrence_id, notification_id, protocol, address_key) WHERE chosen;
CREATE INDEX deliveries_occurrence ON deliveries (occurrence_id, state, id);
CREATE INDEX deliveries_waiting ON deliveries (channel_id, priority, project_id, turn, id) WHERE turn IS NOT NULL;
CREATE INDEX deliveries_due ON deliveries (channel_id, priority, next_at, id) WHERE turn IS NULL AND state < 3;
CREATE INDEX deliveries_member ON deliveries (member_id, occurrence_id);
CREATE INDEX deliveries_member_failed ON deliveries (member_id, occurrence_id) WHERE state = 4;
CREATE INDEX deliveries_reason ON deliveries (occurrence_id, reason, id) WHERE state = 5;
CREATE INDEX deliveries_left_out ON deliveries (occurrence_id, address_key, id) WHERE NOT chosen;
DROP TABLE deliveries_parts;
ALTER SEQUENCE deliveries_id_seq1 RENAME TO deliveries_id_seq;
-- +goose StatementEnd
