-- Numbers that are kept while things happen, so that nobody counts deliveries to show them; who works; and what finds recipients.

-- +goose Up
-- +goose StatementBegin
-- How many deliveries of an occurrence are in each state: the sum of its parts. Instances write to parts of their own, so
-- that none waits for another. The occurrence is not referenced, for the same reasons as by deliveries.
CREATE TABLE occurrence_tallies (
    occurrence_id   BIGINT NOT NULL,
    part            INTEGER NOT NULL,
    organization_id BIGINT NOT NULL,
    pending         BIGINT NOT NULL,
    sending         BIGINT NOT NULL,
    retrying        BIGINT NOT NULL,
    sent            BIGINT NOT NULL,
    failed          BIGINT NOT NULL,
    skipped         BIGINT NOT NULL,
    PRIMARY KEY (occurrence_id, part)
);
CREATE INDEX occurrence_tallies_failed ON occurrence_tallies (organization_id, occurrence_id) WHERE failed > 0;

-- What happened in an organization within an hour: again the sum of the parts.
CREATE TABLE hourly_statistics (
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    hour            BIGINT NOT NULL,   -- since 1970, UTC
    measure         SMALLINT NOT NULL, -- 0 occurrences, 1 failed, 2 skipped, from 16 on sent, by the time that took
    part            INTEGER NOT NULL,
    amount          BIGINT NOT NULL,
    PRIMARY KEY (organization_id, hour, measure, part)
);
CREATE INDEX hourly_statistics_hour ON hourly_statistics (hour);

INSERT INTO occurrence_tallies (occurrence_id, part, organization_id, pending, sending, retrying, sent, failed, skipped)
SELECT o.id, 0, o.organization_id, SUM(d.state = 0), SUM(d.state = 1), SUM(d.state = 2), SUM(d.state = 3), SUM(d.state = 4), SUM(d.state = 5)
FROM deliveries d CROSS JOIN occurrences o WHERE o.id = d.occurrence_id GROUP BY o.id, o.organization_id;
INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
SELECT organization_id, CAST(strftime('%s', created_at) AS INTEGER) / 3600, 0, 0, COUNT(*) FROM occurrences GROUP BY 1, 2;
INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
SELECT organization_id, CAST(strftime('%s', finished_at) AS INTEGER) / 3600,
    CASE state WHEN 4 THEN 1 WHEN 5 THEN 2 ELSE 16 + (took >= 0.05) + (took >= 0.1) + (took >= 0.25) + (took >= 0.5) + (took >= 1) + (took >= 2.5) + (took >= 5)
        + (took >= 10) + (took >= 30) + (took >= 60) + (took >= 300) + (took >= 900) + (took >= 3600) + (took >= 21600) + (took >= 86400) END,
    0, COUNT(*)
FROM (SELECT o.organization_id, d.finished_at, d.state, (julianday(d.finished_at) - julianday(CASE WHEN d.created_at > o.expanded_at THEN d.created_at ELSE o.created_at END)) * 86400 AS took
    FROM deliveries d CROSS JOIN occurrences o WHERE o.id = d.occurrence_id AND d.state >= 3 AND d.finished_at IS NOT NULL) AS finished
GROUP BY 1, 2, 3;

-- Recipients by why they were skipped, and those who were left out from the beginning by address, as deliveries_once has the others.
CREATE INDEX deliveries_reason ON deliveries (occurrence_id, reason) WHERE state = 5;
CREATE INDEX deliveries_left_out ON deliveries (occurrence_id, address_key) WHERE NOT chosen;

-- The workers that are running, as far as they were heard of lately.
CREATE TABLE workers (
    owner      TEXT NOT NULL PRIMARY KEY,
    instance   TEXT NOT NULL, -- names it to operators
    version    TEXT NOT NULL,
    started_at DATETIME NOT NULL,
    seen_at    DATETIME NOT NULL
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE workers;
DROP INDEX deliveries_left_out;
DROP INDEX deliveries_reason;
DROP TABLE hourly_statistics;
DROP TABLE occurrence_tallies;
-- +goose StatementEnd
