-- What an organization records about a user belongs to its membership: the e-mail, the names, how it spells the username. A user is an
-- identity and nothing else. Whoever is looked for by name is looked for within one organization.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE members ADD COLUMN username TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN username_fold TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN email TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN email_fold TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN first_name TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN last_name TEXT NOT NULL DEFAULT '';

UPDATE members SET username = u.username, username_fold = u.username_fold, email = u.email, email_fold = u.email_fold,
    first_name = u.first_name, last_name = u.last_name
FROM users u WHERE u.id = members.user_id;

CREATE UNIQUE INDEX members_username ON members (organization_id, username_fold);
-- Most members are named by their e-mail and found by username_fold; only the others need a second way in.
CREATE INDEX members_email ON members (organization_id, email_fold, id) WHERE email_fold <> username_fold;

DROP INDEX users_email;
ALTER TABLE users DROP COLUMN email;
ALTER TABLE users DROP COLUMN email_fold;
ALTER TABLE users DROP COLUMN first_name;
ALTER TABLE users DROP COLUMN last_name;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
-- Of a user with several memberships what the first of them recorded is kept.
ALTER TABLE users ADD COLUMN email TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN email_fold TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN first_name TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN last_name TEXT NOT NULL DEFAULT '';
UPDATE users SET email = m.email, email_fold = m.email_fold, first_name = m.first_name, last_name = m.last_name
FROM members m WHERE m.id = (SELECT MIN(id) FROM members WHERE user_id = users.id);
CREATE INDEX users_email ON users (email_fold) WHERE email_fold <> username_fold;

DROP INDEX members_email;
DROP INDEX members_username;
ALTER TABLE members DROP COLUMN username;
ALTER TABLE members DROP COLUMN username_fold;
ALTER TABLE members DROP COLUMN email;
ALTER TABLE members DROP COLUMN email_fold;
ALTER TABLE members DROP COLUMN first_name;
ALTER TABLE members DROP COLUMN last_name;
-- +goose StatementEnd
