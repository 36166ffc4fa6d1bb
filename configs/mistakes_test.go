package configs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/configs"
)

func TestLoadMistakes(t *testing.T) {
	t.Parallel()
	path := file(t, "c.yaml", "listn: :1\nsecret_keys: x\nserver:\n  listen: :1\nlog_level: info\nlog_level: warn\n"+
		"body_limit: [1, 2]\ntrusted_proxies: {a: b}\n"+someKey+": x\n? [a]\n: b\n")
	empty := file(t, "empty", " \n")
	for name, tc := range map[string]struct {
		environ []string
		want    []string
	}{
		"UnknownVariable": {[]string{"TOCSIN_LISTN=x"}, []string{"TOCSIN_LISTN (environment): is no setting, did you mean TOCSIN_LISTEN?"}},
		"UnknownEmptyVariable": {[]string{"TOCSIN_DATABASEURL="},
			[]string{"TOCSIN_DATABASEURL (environment): is no setting, did you mean TOCSIN_DATABASE_URL?"}},
		"VariableInMixedCase":   {[]string{"TOCSIN_Listen=x"}, []string{"TOCSIN_Listen (environment): is no setting, did you mean TOCSIN_LISTEN?"}},
		"VariableLikeNoOther":   {[]string{"TOCSIN_PORT=8080"}, []string{"TOCSIN_PORT (environment): is no setting"}},
		"FileVariableOfNone":    {[]string{"TOCSIN_LISTEN_FILE=x"}, []string{"TOCSIN_LISTEN_FILE (environment): is no setting"}},
		"MisspelledSecretsFile": {[]string{"TOCSIN_SECRET_KEYFILE=x"}, []string{"TOCSIN_SECRET_KEYFILE (environment): is no setting, did you mean TOCSIN_SECRET_KEY_FILE?"}},
		"InTheFile": {[]string{"TOCSIN_CONFIG=" + path}, []string{
			"listn (file " + path + ":1): is no setting, did you mean listen?",
			"secret_keys (file " + path + ":2): is no setting, did you mean secret_key?",
			"server (file " + path + ":3): is no setting",
			"log_level (file " + path + ":6): is given twice in this file",
			"body_limit (file " + path + ":7): must be one plain value",
			"trusted_proxies (file " + path + ":8): must be plain values, or a sequence of them",
			"? (file " + path + ":9): is no setting",
			"? (file " + path + ":10): is no setting",
		}},
		"MissingFile":  {[]string{"TOCSIN_CONFIG=nowhere.yaml"}, []string{"config (env TOCSIN_CONFIG): nowhere.yaml: no such file or directory"}},
		"FolderAsFile": {[]string{"TOCSIN_CONFIG=testdata"}, []string{"config (env TOCSIN_CONFIG): testdata: is a directory"}},
		"EverythingAtOnce": {[]string{"TOCSIN_LISTEN=x", "TOCSIN_BODY_LIMIT=x", "TOCSIN_X_Y_Z=1", "TOCSIN_WRITE_TIMEOUT=1s"}, []string{
			"TOCSIN_X_Y_Z (environment): is no setting",
			"listen (env TOCSIN_LISTEN): must be host:port, for example 127.0.0.1:8080 or :8080",
			"body_limit (env TOCSIN_BODY_LIMIT): must be a size from 1KiB to 1GiB, in bytes or with a unit, for example 1MiB",
			"request_timeout (default): must not be longer than write_timeout",
		}},
		"RequestTimeoutBeyondWriteTimeout": {[]string{"TOCSIN_REQUEST_TIMEOUT=10m"},
			[]string{"request_timeout (env TOCSIN_REQUEST_TIMEOUT): must not be longer than write_timeout"}},
		"PostgresWithoutASecretKey": {[]string{"TOCSIN_DATABASE_URL=postgres:///x"},
			[]string{"secret_key (default): is required with Postgres: 32 bytes in hex, for example the output of `openssl rand -hex 32`"}},
		"PostgresWithABadSecretKeyIsOneMistake": {[]string{"TOCSIN_DATABASE_URL=postgres:///x", "TOCSIN_SECRET_KEY=00"},
			[]string{"secret_key (env TOCSIN_SECRET_KEY): must be 32 bytes in hex: 64 characters, for example the output of `openssl rand -hex 32`"}},
		"IncompleteSingleSignOn": {[]string{"TOCSIN_SSO_ISSUER=https://id.example"}, []string{
			"sso_client_id (default): is required with sso_issuer",
			"base_url (default): is required with sso_issuer: the provider sends people back there",
		}},
		"ASystemChannelWithoutBaseURL": {[]string{"TOCSIN_SYSTEM_CHANNEL=acme/mail"},
			[]string{"base_url (default): is required with system_channel: the links in its messages begin with it"}},
		"ASystemChannelWithoutOrganization": {[]string{"TOCSIN_SYSTEM_CHANNEL=mail"}, []string{
			"system_channel (env TOCSIN_SYSTEM_CHANNEL): must be the slug of an organization and the name of one of its channels, for example acme/system-mail"}},
		"ACertificateWithoutItsKey": {[]string{"TOCSIN_TLS_CERT_FILE=cert.pem"}, []string{"tls_key_file (default): is required with tls_cert_file"}},
		"AKeyWithoutItsCertificate": {[]string{"TOCSIN_TLS_KEY_FILE=key.pem"}, []string{"tls_cert_file (default): is required with tls_key_file"}},
		"CertificatesFromTwoPlaces": {[]string{"TOCSIN_TLS_CERT_FILE=cert.pem", "TOCSIN_TLS_KEY_FILE=key.pem", "TOCSIN_ACME_HOSTS=notify.example.org"},
			[]string{"acme_hosts (env TOCSIN_ACME_HOSTS): must be empty when tls_cert_file is set: certificates come from one place"}},
		"AnEncryptedUnixSocket": {[]string{"TOCSIN_LISTEN=unix:/run/tocsin.sock", "TOCSIN_ACME_HOSTS=notify.example.org"},
			[]string{"listen (env TOCSIN_LISTEN): must be host:port when the server encrypts its connections: those by a unix socket are not encrypted"}},
		"NoHosts": {[]string{"TOCSIN_ACME_HOSTS=localhost", "TOCSIN_ACME_EMAIL=nobody", "TOCSIN_ACME_DIRECTORY=http://ca.example", "TOCSIN_LISTEN=unix:tocsin.sock"}, []string{
			"listen (env TOCSIN_LISTEN): must name a unix socket by its absolute path of at most 100 bytes, for example unix:/run/tocsin/tocsin.sock",
			"acme_hosts (env TOCSIN_ACME_HOSTS): must be at most 20 host names, for example notify.example.org",
			"acme_email (env TOCSIN_ACME_EMAIL): must be an e-mail address, for example operations@example.org",
			"acme_directory (env TOCSIN_ACME_DIRECTORY): must be the https URL of an ACME directory, for example https://acme-v02.api.letsencrypt.org/directory",
		}},
		"OnlySingleSignOnWithoutAny": {[]string{"TOCSIN_REQUIRE_SSO=true"}, []string{
			"sso_issuer (default): is required with require_sso",
			"sso_break_glass (default): is required with require_sso: nobody else could sign in while the provider is away",
		}},
		"SingleSignOnWithABadIssuerIsOneMistake": {[]string{"TOCSIN_SSO_ISSUER=x", "TOCSIN_REQUIRE_SSO=true", "TOCSIN_SSO_BREAK_GLASS=root"},
			[]string{"sso_issuer (env TOCSIN_SSO_ISSUER): must be an https URL, for example https://id.example.org/realms/team"}},
		"SecretGivenTwice": {[]string{"TOCSIN_SECRET_KEY=" + someKey, "TOCSIN_SECRET_KEY_FILE=x"},
			[]string{"secret_key (env TOCSIN_SECRET_KEY): is set both here and in env TOCSIN_SECRET_KEY_FILE: remove one of them"}},
		"SecretFileMissingIsNotRepeated": {[]string{"TOCSIN_SECRET_KEY_FILE=" + someKey},
			[]string{"secret_key (env TOCSIN_SECRET_KEY_FILE): the file that it names cannot be read: no such file or directory"}},
		"SecretFileMissing": {[]string{"TOCSIN_SECRET_KEY_FILE=" + empty + ".key"},
			[]string{"secret_key (env TOCSIN_SECRET_KEY_FILE): the file " + empty + ".key cannot be read: no such file or directory"}},
		"SecretInTheRootIsNotRepeated": {[]string{"TOCSIN_SECRET_KEY_FILE=/" + someKey},
			[]string{"secret_key (env TOCSIN_SECRET_KEY_FILE): the file that it names cannot be read: no such file or directory"}},
		"SecretLikeAPathIsNotRepeated": {[]string{"TOCSIN_SECRET_KEY_FILE=/ab/" + someKey},
			[]string{"secret_key (env TOCSIN_SECRET_KEY_FILE): the file that it names cannot be read: no such file or directory"}},
		"SecretFileEmpty": {[]string{"TOCSIN_SECRET_KEY_FILE=" + empty},
			[]string{"secret_key (env TOCSIN_SECRET_KEY_FILE): the file " + empty + " is empty"}},
		"SecretFileWithoutEnd": {[]string{"TOCSIN_SECRET_KEY_FILE=/dev/zero"},
			[]string{"secret_key (env TOCSIN_SECRET_KEY_FILE): the file /dev/zero cannot be read: larger than 1MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := configs.Load(nil, tc.environ)
			require.Equal(t, tc.want, mistakes(t, err))
			require.Equal(t, configs.Config{}, c)
		})
	}

	for name, content := range map[string]string{
		"NoMapping":     "just words",
		"Sequence":      "- a",
		"TwoDocuments":  "listen: :1\n---\nlisten: :2",
		"BrokenYAML":    "listen: [",
		"UnknownAnchor": "secret_key: *" + someKey,
		"NotText":       "listen: \xff\xfe",
	} {
		t.Run("File/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := configs.Load(nil, []string{"TOCSIN_CONFIG=" + file(t, "c.yaml", content)})
			require.Len(t, mistakes(t, err), 1)
			require.ErrorContains(t, err, "c.yaml: ")
			require.NotContains(t, err.Error(), someKey)
		})
	}

	t.Run("OneMistakeIsOneLine", func(t *testing.T) {
		t.Parallel()
		_, err := configs.Load(nil, []string{"TOCSIN_LOG_LEVEL=loud"})
		require.EqualError(t, err, "configuration: log_level (env TOCSIN_LOG_LEVEL): must be debug, info, warn or error")
	})
	t.Run("SeveralAreAList", func(t *testing.T) {
		t.Parallel()
		_, err := configs.Load(nil, []string{"TOCSIN_LOG_LEVEL=loud", "TOCSIN_LOG_FORMAT=x"})
		require.EqualError(t, err, "configuration: 2 mistakes\n"+
			"  log_level (env TOCSIN_LOG_LEVEL): must be debug, info, warn or error\n"+
			"  log_format (env TOCSIN_LOG_FORMAT): must be auto, text or json")
	})
}

func TestForeignEnvironment(t *testing.T) {
	t.Parallel()
	load(t, "TOCSIN_URL=http://127.0.0.1:8080", "TOCSIN_KEY=tcs_x", "TOCSIN_TEST_POSTGRES=postgres://x", "TOCSIN_TEST_ANYTHING=",
		"TOCSIN_SERVICE_HOST=10.0.0.1", "TOCSIN_SERVICE_PORT=80", "TOCSIN_SERVICE_PORT_HTTP=80", "TOCSIN_PORT=tcp://10.0.0.1:80",
		"TOCSIN_PORT_80_TCP=tcp://10.0.0.1:80", "TOCSIN_PORT_80_TCP_PROTO=tcp", "TOCSIN_PORT_80_TCP_PORT=80", "TOCSIN_PORT_80_TCP_ADDR=10.0.0.1",
		"TOCSIN_WORKER_SERVICE_HOST=10.0.0.2", "TOCSIN_WORKER_PORT=tcp://10.0.0.2:80",
		"tocsin_listen=x", "OTHER_TOCSIN_X=1", "TOCSIN_", "no equals sign")
}

func mistakes(t *testing.T, err error) []string {
	t.Helper()
	var e *configs.Error
	require.ErrorAs(t, err, &e)
	var all []string
	for _, m := range e.Mistakes {
		all = append(all, m.String())
	}
	return all
}
