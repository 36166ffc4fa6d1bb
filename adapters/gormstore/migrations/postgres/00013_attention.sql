-- Imports that somebody should look at are found without looking at all others.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX imports_rejecting ON imports (organization_id, ended_at) WHERE CASE state WHEN 'failed' THEN TRUE WHEN 'done' THEN kept_count > 0 ELSE FALSE END;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX imports_rejecting;
-- +goose StatementEnd
