package httpapi_test

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// The keys of the tests, by their text.
const (
	fullKey  = "full"  // every grant, the whole installation
	acmeKey  = "acme"  // every grant, organization acme
	shopKey  = "shop"  // every grant, application acme/shop/web
	readKey  = "read"  // user:read, the whole installation
	otherKey = "other" // system:ping, the whole installation
)

// authenticator accepts the keys above. Their texts have no digest, like any malformed text.
type authenticator struct {
	err   error // returned instead, when set
	mu    sync.Mutex
	asked int
}

func (a *authenticator) Authenticate(_ context.Context, token string) (access.Key, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if a.err != nil {
		return access.Key{}, a.err
	}
	key := access.Key{Name: "key " + token, Grants: access.Grants()}
	switch token {
	case fullKey, tokens[0], tokens[1]:
	case acmeKey:
		key.Scope = access.Scope{Organization: "acme"}
	case shopKey:
		key.Scope = access.Scope{Organization: "acme", Project: "shop", Application: "web"}
	case readKey:
		key.Grants = []access.Grant{access.UserRead}
	case otherKey:
		key.Grants = []access.Grant{access.SystemPing}
	default:
		return access.Key{}, access.ErrUnauthenticated
	}
	return key, nil
}

func (a *authenticator) calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// store has one organization, acme, and only the repositories that the tests use. Everything else
// panics.
type store struct {
	ports.Store
	mu      sync.Mutex
	err     error                                                // returned by every unit of work, when set
	members func(after users.MemberID, limit int) []users.Member // of acme
	reader  func(after int64, limit int) ([]lists.Recipient, error)
	found   []string       // the usernames passed to Find
	batches []users.Writes // the writes of enrolments
	units   int
	out     map[deliveries.OptOut]bool
	about   deliveries.Unsubscription // the subject of every link, by name
	entries []audit.Entry
}

func (s *store) View(_ context.Context, fn func(ports.Tx) error) error { return s.run(fn) }

func (s *store) Update(_ context.Context, fn func(ports.Tx) error) error { return s.run(fn) }

func (s *store) run(fn func(ports.Tx) error) error {
	s.mu.Lock()
	s.units++
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return fn(tx{store: s})
}

func (s *store) used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units
}

type tx struct {
	ports.Tx
	store *store
}

func (t tx) Orgs() orgs.Repository   { return orgRepository{} }
func (t tx) Users() users.Repository { return userRepository{store: t.store} }
func (t tx) Lists() lists.Repository { return listRepository{store: t.store} }

func (t tx) Deliveries() deliveries.Repository { return deliveryRepository{store: t.store} }

func (t tx) Audit() audit.Repository { return auditRepository{store: t.store} }

type auditRepository struct {
	audit.Repository
	store *store
}

func (r auditRepository) Record(_ context.Context, es ...audit.Entry) error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.entries = append(r.store.entries, es...)
	return nil
}

type orgRepository struct{ orgs.Repository }

func (orgRepository) BySlug(_ context.Context, slug string) (orgs.Organization, error) {
	if slug != "acme" {
		return orgs.Organization{}, orgs.ErrNotFound
	}
	return orgs.Organization{ID: 1, Slug: "acme", Name: "Acme"}, nil
}

func (r orgRepository) WithGroups(ctx context.Context, slug string, _ orgs.GroupID) (orgs.Organization, []orgs.Group, error) {
	o, err := r.BySlug(ctx, slug)
	return o, []orgs.Group{{ID: 1, Organization: o.ID, Name: orgs.DefaultGroup}}, err
}

func (r orgRepository) Project(ctx context.Context, org, project string) (orgs.Project, error) {
	o, err := r.BySlug(ctx, org)
	return orgs.Project{ID: 2, Organization: o.ID, Slug: project, Name: "Shop"}, err
}

type userRepository struct {
	users.Repository
	store *store
}

func (userRepository) Matches(context.Context, orgs.ID, []string, int) ([]users.Match, error) {
	return nil, nil
}

func (r userRepository) Enroll(_ context.Context, w users.Writes) error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.batches = append(r.store.batches, w)
	for _, m := range w.Members {
		m.ID, m.User.ID = 7, 1
	}
	return nil
}

func (r userRepository) ByUsername(_ context.Context, _ orgs.ID, name string) (users.Member, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.found = append(r.store.found, name)
	return users.Member{ID: 7, User: users.User{ID: 1, Username: name}}, nil
}

func (r userRepository) List(_ context.Context, _ orgs.ID, after users.MemberID, limit int) ([]users.Member, error) {
	return r.store.members(after, limit), nil
}

func (r userRepository) Fitting(_ context.Context, _ orgs.ID, after users.MemberID, limit int) (n int, more bool, err error) {
	n = len(r.store.members(after, limit))
	return n, n == limit, nil
}

type listRepository struct {
	lists.Repository
	store *store
}

func (listRepository) ByID(_ context.Context, _ orgs.ID, _ orgs.ProjectID, id lists.ID) (lists.List, error) {
	return lists.List{ID: id, Name: "News"}, nil
}

func (r listRepository) Recipients(_ context.Context, _ lists.List, after channels.AssignmentID, limit int) ([]lists.Recipient, error) {
	return r.store.reader(int64(after), limit)
}

// deliveryRepository has the opt-outs of every member but 404, who is gone.
type deliveryRepository struct {
	deliveries.Repository
	store *store
}

func (r deliveryRepository) Unsubscription(_ context.Context, o deliveries.OptOut) (deliveries.Unsubscription, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if o.Member == 404 {
		return deliveries.Unsubscription{}, deliveries.ErrLinkOutdated
	}
	found := r.store.about
	found.OptOut, found.Out = o, r.store.out[o]
	return found, nil
}

func (r deliveryRepository) SetOptOut(_ context.Context, o deliveries.OptOut, out bool) (bool, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	changed := r.store.out[o] != out
	r.store.out[o] = out
	return changed, nil
}
