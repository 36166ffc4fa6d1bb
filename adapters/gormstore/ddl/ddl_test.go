package ddl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/gormstore/ddl"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]ddl.Step{
		"CREATE TABLE a (id BIGINT PRIMARY KEY)":                                    {Table: "a", Lock: ddl.LockNone, Work: ddl.Moment},
		"DROP TABLE a":                                                              {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment, Contracts: true},
		"CREATE INDEX a_b ON a (b)":                                                 {Table: "a", Lock: ddl.LockReaders, Work: ddl.Reads},
		"CREATE UNIQUE INDEX a_b ON a (b)":                                          {Table: "a", Lock: ddl.LockReaders, Work: ddl.Reads, Contracts: true},
		"CREATE INDEX CONCURRENTLY a_b ON a (b)":                                    {Table: "a", Lock: ddl.LockUpkeep, Work: ddl.Reads},
		"DROP INDEX CONCURRENTLY IF EXISTS a_b":                                     {Lock: ddl.LockUpkeep, Work: ddl.Moment},
		"DROP INDEX a_b":                                                            {Lock: ddl.LockAll, Work: ddl.Moment},
		"ALTER TABLE a ADD COLUMN b TEXT":                                           {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment},
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT '[]'":                     {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment},
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL":                                  {Table: "a", Lock: ddl.LockAll, Work: ddl.Reads, Contracts: true},
		"ALTER TABLE a ADD COLUMN b TIMESTAMPTZ DEFAULT clock_timestamp()":          {Table: "a", Lock: ddl.LockAll, Work: ddl.Rewrite},
		"ALTER TABLE a ADD CONSTRAINT b CHECK (c > 0)":                              {Table: "a", Lock: ddl.LockAll, Work: ddl.Reads, Contracts: true},
		"ALTER TABLE a ADD CONSTRAINT b CHECK (c > 0) NOT VALID":                    {Table: "a", Lock: ddl.LockReference, Work: ddl.Moment, Contracts: true},
		"ALTER TABLE a VALIDATE CONSTRAINT b":                                       {Table: "a", Lock: ddl.LockUpkeep, Work: ddl.Reads},
		"ALTER TABLE a ALTER COLUMN b DROP NOT NULL":                                {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment},
		"ALTER TABLE a ALTER COLUMN b SET NOT NULL":                                 {Table: "a", Lock: ddl.LockAll, Work: ddl.Reads, Contracts: true},
		"ALTER TABLE a ALTER COLUMN b TYPE BIGINT":                                  {Table: "a", Lock: ddl.LockAll, Work: ddl.Rewrite, Contracts: true},
		"ALTER TABLE a RENAME COLUMN b TO c":                                        {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment, Contracts: true},
		"ALTER TABLE a RENAME TO b":                                                 {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment, Contracts: true},
		"ALTER TABLE a ALTER COLUMN b DROP IDENTITY":                                {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment, Contracts: true},
		"ALTER TABLE a ATTACH PARTITION b FOR VALUES FROM (MINVALUE) TO (MAXVALUE)": {Table: "a", Lock: ddl.LockUpkeep, Work: ddl.Moment},
		"ALTER TABLE a ATTACH PARTITION b FOR VALUES FROM (1) TO (2)":               {Table: "a", Lock: ddl.LockAll, Work: ddl.Rewrite, Contracts: true},
		"ALTER INDEX a_b RENAME TO c_b":                                             {Lock: ddl.LockUpkeep, Work: ddl.Moment},
		"CREATE INDEX a_b ON ONLY a (b)":                                            {Table: "a", Lock: ddl.LockReaders, Work: ddl.Reads},
		"ALTER TABLE a DROP COLUMN b":                                               {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment, Contracts: true},
		"ALTER TABLE a SET (fillfactor = 50)":                                       {Table: "a", Lock: ddl.LockUpkeep, Work: ddl.Moment},
		"UPDATE a SET b = ';'":                                                      {Table: "a", Lock: ddl.LockWrites, Work: ddl.Changes},
		"DELETE FROM a":                                                             {Table: "a", Lock: ddl.LockWrites, Work: ddl.Changes},
		"INSERT INTO a (b) SELECT b FROM c":                                         {Table: "a", Lock: ddl.LockWrites, Work: ddl.Changes},
		"LOCK TABLE a IN ACCESS EXCLUSIVE MODE":                                     {Table: "a", Lock: ddl.LockAll, Work: ddl.Moment},
		"SET lock_timeout = 0":                                                      {Lock: ddl.LockNone, Work: ddl.Moment},
		"CLUSTER a":                                                                 {Lock: ddl.LockAll, Work: ddl.Rewrite, Contracts: true},
		"ALTER TABLE a ADD COLUMN b TEXT, ADD COLUMN c TEXT, ALTER d TYPE BIGINT":   {Table: "a", Lock: ddl.LockAll, Work: ddl.Rewrite, Contracts: true},
	} {
		want.Statement = statement
		assert.Equal(t, []ddl.Step{want}, ddl.Steps("-- +goose Up\n-- +goose StatementBegin\n"+statement+"; -- why\n-- +goose StatementEnd\n-- +goose Down\nDROP TABLE z;"), statement)
	}
}

func TestNewTableDoesNotBlock(t *testing.T) {
	t.Parallel()
	for _, s := range ddl.Steps("-- +goose Up\nCREATE TABLE a (\n  b TEXT -- the name\n);\nCREATE INDEX a_b ON a (b);\nINSERT INTO a VALUES ('x');") {
		assert.Equal(t, "a", s.Table)
		assert.Equal(t, ddl.LockNone, s.Lock)
		assert.False(t, s.Blocks())
	}
	assert.True(t, ddl.Steps("-- +goose Up\nCREATE INDEX a_b ON a (b);")[0].Blocks())
	assert.False(t, ddl.Steps("-- +goose Up\nUPDATE a SET b = 1;")[0].Blocks())
}

// TestRenamedTableWithSuccessor checks that older programs do not notice when a table is renamed
// and a new one gets its name.
func TestRenamedTableWithSuccessor(t *testing.T) {
	t.Parallel()
	for _, s := range ddl.Steps("-- +goose Up\nALTER TABLE a RENAME TO a_first;\nCREATE TABLE a (LIKE a_first);\nALTER TABLE a_first ALTER COLUMN id DROP IDENTITY;\nCREATE INDEX a_b ON ONLY a (b);") {
		assert.False(t, s.Contracts, s.Statement)
		assert.False(t, s.Blocks(), s.Statement)
	}
}

// TestForeignKeysLockParents checks that a table is locked for writes while another one gets
// a reference to it.
func TestForeignKeysLockParents(t *testing.T) {
	t.Parallel()
	steps := func(text string) (locks [][3]string) {
		for _, s := range ddl.Steps("-- +goose Up\n" + text) {
			locks = append(locks, [3]string{s.Table, s.Lock, string(s.Work)})
		}
		return locks
	}
	assert.Equal(t, [][3]string{{"a", ddl.LockAll, "reads all rows"}, {"c", ddl.LockReference, "reads all rows"}},
		steps("ALTER TABLE a ADD COLUMN b BIGINT REFERENCES c (id);"))
	assert.Equal(t, [][3]string{{"a", ddl.LockReference, "a moment"}, {"c", ddl.LockReference, "a moment"}},
		steps("ALTER TABLE a ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES c (id) NOT VALID;"))
	assert.Equal(t, [][3]string{{"a", ddl.LockNone, "a moment"}, {"b", ddl.LockReference, "a moment"}, {"c", ddl.LockReference, "a moment"}, {"d", ddl.LockNone, "a moment"}},
		steps("CREATE TABLE a (b BIGINT REFERENCES b (id), c BIGINT REFERENCES \"c\" (id), again BIGINT REFERENCES b (id), self BIGINT REFERENCES a (id));\nCREATE TABLE d (a BIGINT REFERENCES a (id));"))
	assert.Equal(t, [][3]string{{"a", ddl.LockWrites, "changes rows"}}, steps("UPDATE a SET b = ' REFERENCES c ';"))
}
