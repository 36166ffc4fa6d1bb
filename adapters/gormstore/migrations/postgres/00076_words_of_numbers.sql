-- Members are found by numbers in groups: 0815-4711 has the word 08154711 now. All members are indexed again. An older program that runs
-- beside this one would do that without the new words: it uses member_words_builds, which this one leaves alone.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE word_builds (
    organization_id BIGINT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    position        BIGINT NOT NULL -- the last member who has been indexed
);
INSERT INTO word_builds (organization_id, position) SELECT id, 0 FROM organizations;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE word_builds;
-- +goose StatementEnd
