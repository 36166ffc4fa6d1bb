-- What belongs to one organization among very many is found without looking at what belongs to others.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX projects_organization ON projects (organization_id, id);
CREATE INDEX member_groups_organization ON member_groups (organization_id, id);
CREATE INDEX channels_organization ON channels (organization_id, id);
CREATE INDEX applications_organization ON applications (organization_id, id);
CREATE INDEX distribution_lists_organization ON distribution_lists (organization_id, id);
CREATE INDEX api_keys_application ON api_keys (application_id);
-- Revoking a name concerns the keys that were replaced as well, which api_keys_name leaves out.
CREATE INDEX api_keys_named ON api_keys (name_fold);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX api_keys_named;
DROP INDEX api_keys_application;
DROP INDEX distribution_lists_organization;
DROP INDEX applications_organization;
DROP INDEX channels_organization;
DROP INDEX member_groups_organization;
DROP INDEX projects_organization;
-- +goose StatementEnd
