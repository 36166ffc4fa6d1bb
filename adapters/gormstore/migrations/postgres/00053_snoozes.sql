-- Problems on the home page of an organization that somebody knows of: their cards are quiet.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE problem_snoozes (
    organization_id BIGINT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    problem         TEXT NOT NULL, -- what names it for as long as it lasts
    seen            TEXT NOT NULL, -- what it was like then
    snoozed_by      TEXT NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    until_at        TIMESTAMPTZ,         -- NULL: until it is not as it was seen
    PRIMARY KEY (organization_id, problem)
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE problem_snoozes;
-- +goose StatementEnd
