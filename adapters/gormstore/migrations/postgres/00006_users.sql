-- What makes filtering people fast: members of a group, of an application and with a role, by their ids.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX member_group_links_group ON member_group_links (group_id, member_id);
DROP INDEX application_memberships_application;
CREATE INDEX application_memberships_application ON application_memberships (application_id, member_id);
CREATE INDEX members_role ON members (organization_id, role, id) WHERE role <> 'member';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX members_role;
DROP INDEX application_memberships_application;
CREATE INDEX application_memberships_application ON application_memberships (application_id);
DROP INDEX member_group_links_group;
-- +goose StatementEnd
