-- Members are found by numbers in groups: 0815-4711 has the word 08154711 now. All members are indexed again.

-- +goose Up
-- +goose StatementBegin
INSERT INTO member_words_builds (organization_id, position) SELECT id, 0 FROM organizations WHERE TRUE
ON CONFLICT (organization_id) DO UPDATE SET position = 0;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
SELECT 1; -- The words stay until their members change: they find nobody else.
-- +goose StatementEnd
