// Package access is about API keys, their grants and their scopes. It knows no HTTP; a route states
// what it needs as a Grant and a Scope.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
)

// Errors of this package.
var (
	ErrUnauthenticated = fault.New(fault.Unauthenticated, `a valid API key is required, sent as the header "Authorization: Key <API_KEY>"`)
	ErrOutOfScope      = fault.New(fault.Forbidden, "the API key does not reach this resource")
	ErrNotGranted      = fault.New(fault.Forbidden, "the API key lacks the permission")
	ErrKeyNotFound     = fault.New(fault.NotFound, "there is no such key")
	ErrNameTaken       = fault.New(fault.Invalid, "a key with this name exists already")
	ErrAmbiguous       = fault.New(fault.Invalid, "several keys have this name")
	ErrEnded           = fault.New(fault.Invalid, "the key is revoked or has expired")
	ErrReplaced        = fault.New(fault.Invalid, "another key has taken the place of this one already")
)

// Grant is a permission of a key, as named in the contract and the decisions.
type Grant string

// The grants (decisions 1).
const (
	OrganizationRead       Grant = "organization:read"
	DistributionListRead   Grant = "distributionlist:read"
	DistributionListWrite  Grant = "distributionlist:write"
	ManageApplicationUsers Grant = "manage_application_users"
	UserRead               Grant = "user:read"
	UserWrite              Grant = "user:write"
	EventList              Grant = "event:list"
	EventTrigger           Grant = "event:trigger"
	DeliveryRead           Grant = "delivery:read"
	SystemPing             Grant = "system:ping"
	FullAccess             Grant = "full_access" // every grant above, within the scope
)

// The grants to manage an organization's structure. full_access does not include them: such keys
// were issued to use existing objects.
const (
	OrganizationWrite Grant = "organization:write"
	ProjectWrite      Grant = "project:write"
	ApplicationWrite  Grant = "application:write"
	GroupWrite        Grant = "group:write"
	ChannelRead       Grant = "channel:read" // with the settings that are not secret
	ChannelWrite      Grant = "channel:write"
	EventWrite        Grant = "event:write"
	TemplateRead      Grant = "template:read"
	TemplateWrite     Grant = "template:write"
	BlueprintApply    Grant = "blueprint:apply"
	KeyRead           Grant = "key:read"
	KeyWrite          Grant = "key:write" // keys that have no more rights than the one in use
	RoleRead          Grant = "role:read"
	RoleWrite         Grant = "role:write" // who gets into the organization's console
	MembershipRead    Grant = "membership:read"
	MembershipWrite   Grant = "membership:write" // locks, and whether an application may notify a member
	DeliveryWrite     Grant = "delivery:write"   // retrying failed deliveries
	AuditRead         Grant = "audit:read"
)

// Grants returns every grant, in the order in which they are documented.
func Grants() []Grant {
	return []Grant{OrganizationRead, DistributionListRead, DistributionListWrite, ManageApplicationUsers, UserRead, UserWrite,
		EventList, EventTrigger, DeliveryRead, SystemPing, FullAccess,
		OrganizationWrite, ProjectWrite, ApplicationWrite, GroupWrite, ChannelRead, ChannelWrite, EventWrite, TemplateRead, TemplateWrite, BlueprintApply,
		KeyRead, KeyWrite, RoleRead, RoleWrite, MembershipRead, MembershipWrite, DeliveryWrite, AuditRead}
}

// Manages reports whether the grant is one to manage an organization's structure, which full_access
// does not include.
func (g Grant) Manages() bool {
	all := Grants()
	return slices.Index(all, g) > slices.Index(all, FullAccess)
}

// ParseGrants parses the names of grants: at least one, each known; duplicates count once.
func ParseGrants(field string, words []string) ([]Grant, error) {
	var faults fault.Fields
	var granted []Grant
	var unknown []string
	for _, w := range words {
		g := Grant(strings.TrimSpace(w))
		switch {
		case !slices.Contains(Grants(), g):
			unknown = append(unknown, strconv.Quote(w))
		case !slices.Contains(granted, g):
			granted = append(granted, g)
		}
	}
	if len(unknown) > 0 {
		faults.Addf(field, "there is no grant %s; there is %s", fault.List(unknown), fault.List(Grants()))
	}
	if len(words) == 0 {
		faults.Addf(field, "at least one is required")
	}
	return granted, faults.Err()
}

// Scope names an organization, project or application by slugs: the reach of a key, or the target
// of a route. An empty level is not named.
type Scope struct {
	Organization string
	Project      string
	Application  string
}

// Covers reports whether a key of scope s reaches a URL of scope target: every level that the key
// names is in the URL and equal. A URL that names no tenant is reached by every key.
func (s Scope) Covers(target Scope) bool {
	if target == (Scope{}) {
		return true
	}
	return (s.Organization == "" || s.Organization == target.Organization) &&
		(s.Project == "" || s.Project == target.Project) &&
		(s.Application == "" || s.Application == target.Application)
}

// Mismatch returns the first level that s and the target both name, but differently: `org`, `prj`
// or `app`. It is empty when there is none.
func (s Scope) Mismatch(target Scope) string {
	for _, level := range []struct{ name, ours, asked string }{
		{"org", s.Organization, target.Organization}, {"prj", s.Project, target.Project}, {"app", s.Application, target.Application},
	} {
		if level.ours != "" && level.asked != "" && level.ours != level.asked {
			return level.name
		}
	}
	return ""
}

// Check reports levels that are named without the level above them.
func (s Scope) Check() error {
	var faults fault.Fields
	if s.Project != "" && s.Organization == "" {
		faults.Addf("project", "needs an organization")
	}
	if s.Application != "" && s.Project == "" {
		faults.Addf("application", "needs a project")
	}
	return faults.Err()
}

// String returns the scope as a path: `acme/shop/web`, or `installation` when nothing is named.
func (s Scope) String() string {
	switch {
	case s.Organization == "":
		return "installation"
	case s.Project == "":
		return s.Organization
	case s.Application == "":
		return s.Organization + "/" + s.Project
	}
	return s.Organization + "/" + s.Project + "/" + s.Application
}

// ID identifies a key. It is positive; 0 means "not stored yet".
type ID int64

// Digest is the SHA-256 of a key's text, the only form in which it is stored.
type Digest [sha256.Size]byte

// Prefix marks the text of every key, so that secret scanners find it.
const Prefix = "tcs_"

// secretLength is the length of the random part: 256 bits in hex.
const secretLength = 64

// Generate returns the text of a new key, to be shown once, and its digest.
func Generate() (text string, d Digest) {
	var secret [secretLength / 2]byte
	_, _ = rand.Read(secret[:]) // Documented never to fail: it ends the program instead.
	text = Prefix + hex.EncodeToString(secret[:])
	return text, sha256.Sum256([]byte(text))
}

// ParseToken returns the digest of a key's text; ErrUnauthenticated when the text cannot be a key.
func ParseToken(text string) (Digest, error) {
	secret, found := strings.CutPrefix(text, Prefix)
	if !found || len(secret) != secretLength || strings.Trim(secret, "0123456789abcdef") != "" {
		return Digest{}, ErrUnauthenticated
	}
	return sha256.Sum256([]byte(text)), nil
}

// Key is an API key without its secret. Its name is unique among the keys of its scope that are
// neither revoked nor replaced.
type Key struct {
	ID       ID
	Name     string
	Digest   Digest
	Scope    Scope
	Grants   []Grant
	Created  time.Time
	Expires  time.Time // zero: never
	Revoked  time.Time // zero: not
	Replaced time.Time // when another key replaced it; zero: none has
	LastUsed time.Time // to the minute; zero: never

	AtMostNormal bool // it cannot trigger urgent occurrences

	Quotas quotas.Limits // of its scope's organization, where they differ from the installation's; only from ByDigest
}

// NewKey checks an operator's input for a key. lifetime 0 means that it never expires.
func NewKey(name string, s Scope, grants []string, now time.Time, lifetime time.Duration, limits ...Limit) (Key, error) {
	var faults fault.Fields
	k := Key{Scope: s, Created: now}
	var err error
	k.Name, err = names.Label("name", name)
	faults.Add("name", err)
	k.Grants, err = ParseGrants("grant", grants)
	faults.Add("grant", err)
	faults.Add("", s.Check())
	if lifetime != 0 {
		k.Expires = now.Add(lifetime)
	}
	for _, limit := range limits {
		limit(&k)
	}
	if !k.Valid(now) {
		faults.Addf("expires", "must lie in the future")
	}
	return k, faults.Err()
}

// Limit is a limit of a new key in addition to its scope and its grants.
type Limit func(*Key)

// AtMostNormal keeps a key from triggering urgent occurrences, if on is true.
func AtMostNormal(on bool) Limit { return func(k *Key) { k.AtMostNormal = on } }

// Valid reports whether the key authenticates now.
func (k Key) Valid(now time.Time) bool {
	return k.Revoked.IsZero() && (k.Expires.IsZero() || now.Before(k.Expires))
}

// State is the state of a key.
type State string

// The states. A replaced key is valid until its overlap ends.
const (
	Active   State = "active"
	Replaced State = "replaced"
	Expired  State = "expired"
	Revoked  State = "revoked"
)

// State returns the key's state now.
func (k Key) State(now time.Time) State {
	switch {
	case !k.Revoked.IsZero():
		return Revoked
	case !k.Valid(now):
		return Expired
	case !k.Replaced.IsZero():
		return Replaced
	}
	return Active
}

// Rotate returns the key that replaces k, with the lifetime of k, and k itself, which stays valid
// for the overlap and then ends by itself, or at its own end if that is earlier. ErrEnded,
// ErrReplaced.
func (k Key) Rotate(now time.Time, overlap time.Duration) (next, old Key, err error) {
	switch {
	case !k.Valid(now):
		return Key{}, Key{}, ErrEnded
	case !k.Replaced.IsZero():
		return Key{}, Key{}, ErrReplaced
	case overlap <= 0:
		return Key{}, Key{}, fault.Field("overlap", "must be longer than 0")
	}
	next = Key{Name: k.Name, Scope: k.Scope, Grants: slices.Clone(k.Grants), AtMostNormal: k.AtMostNormal, Created: now}
	if !k.Expires.IsZero() {
		next.Expires = now.Add(k.Expires.Sub(k.Created))
	}
	k.Replaced = now
	if ends := now.Add(overlap); k.Expires.IsZero() || ends.Before(k.Expires) {
		k.Expires = ends
	}
	return next, k, nil
}

// Authorize reports whether the key may use a route: first the scope, then the grant;
// ErrOutOfScope, ErrNotGranted.
func (k Key) Authorize(target Scope, g Grant) error {
	if !k.Scope.Covers(target) {
		return ErrOutOfScope
	}
	if !k.Granted(g) {
		return ErrNotGranted.With("the API key lacks the permission %s", g)
	}
	return nil
}

// Only returns the key of a name, given the newest one of each scope; ErrKeyNotFound, and
// ErrAmbiguous naming the scopes.
func Only(namesakes []Key) (Key, error) {
	if len(namesakes) == 0 {
		return Key{}, ErrKeyNotFound
	}
	if len(namesakes) == 1 {
		return namesakes[0], nil
	}
	scopes := make([]string, len(namesakes))
	for i, k := range namesakes {
		scopes[i] = k.Scope.String()
	}
	slices.Sort(scopes)
	return Key{}, ErrAmbiguous.With("several keys have this name: of %s; say of which", strings.Join(scopes, ", "))
}

// Granted reports whether the key has a grant, directly or, except for management, by full_access.
func (k Key) Granted(g Grant) bool {
	return slices.Contains(k.Grants, g) || !g.Manages() && slices.Contains(k.Grants, FullAccess)
}

// Authenticator finds the key of a text; ErrUnauthenticated for every text that is not a valid key
// now.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Key, error)
}

// Repository keeps keys.
type Repository interface {
	// ByDigest finds a key with its quotas; ErrKeyNotFound. Revoked and expired keys are found too.
	ByDigest(ctx context.Context, d Digest) (Key, error)
	// ByName finds the newest key of this name and exactly this scope that is not revoked;
	// ErrKeyNotFound, or the not-found fault of the scope.
	ByName(ctx context.Context, s Scope, name string) (Key, error)
	// Named returns the newest key of this name in each scope that is not revoked: at most limit,
	// the newest first.
	Named(ctx context.Context, name string, limit int) ([]Key, error)
	// ByID finds a key whose scope lies in the organization, or with 0 any; ErrKeyNotFound.
	ByID(ctx context.Context, org orgs.ID, id ID) (Key, error)
	// List returns the keys whose scope lies in the organization, or with 0 all, by id: at most
	// limit after the given one.
	List(ctx context.Context, org orgs.ID, after ID, limit int) ([]Key, error)
	// Latest returns the keys whose scope lies in the organization, or with 0 all, the newest
	// first: at most limit, older than the one with the id before (0: from the newest on).
	Latest(ctx context.Context, org orgs.ID, before ID, limit int) ([]Key, error)
	// Ending returns the keys whose scope lies in the organization that end after from and not
	// after until, without those that are revoked or replaced: at most limit, by their ends.
	Ending(ctx context.Context, org orgs.ID, from, until time.Time, limit int) ([]Key, error)
	// Create stores a new key and returns it with its id; ErrNameTaken, or the not-found error of
	// its scope.
	Create(ctx context.Context, k Key) (Key, error)
	// Save stores everything of a key but its scope, its digest, and the times of its creation and
	// use; ErrKeyNotFound, ErrNameTaken.
	Save(ctx context.Context, k Key) error
	// RenameReplaced gives a name to the keys of k's name and scope that were replaced and are not
	// revoked.
	RenameReplaced(ctx context.Context, k Key, name string) error
	// Revoke marks the keys of k's name and scope that are not revoked: k and the keys that it
	// replaced; ErrKeyNotFound.
	Revoke(ctx context.Context, k Key, now time.Time) error
	// RecordUse records when keys were last used; an earlier time never replaces a later one.
	RecordUse(ctx context.Context, moments map[ID]time.Time) error
}
