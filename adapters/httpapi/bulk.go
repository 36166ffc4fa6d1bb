package httpapi

import (
	"net/http"

	"github.com/tocsin/tocsin/domain/users"
)

// maxBulk is the maximum number of users in one call.
const maxBulk = 1_000

// bulk is the response to a call for many users, in the order of the request.
type bulk struct {
	Results []bulkResult `json:"results"`
}

// bulkResult is the result for one user: the user or a problem.
type bulkResult struct {
	Status  int           `json:"status"`
	User    *enrolledUser `json:"user,omitempty"`
	Problem *problem      `json:"problem,omitempty"`
}

// createUsers is createUser for each user in the body, in one unit of work.
func (a *API) createUsers(c call) error {
	body := c.object()
	rows := body.Rows("users", maxBulk)
	if err := body.Err(); err != nil {
		return err
	}
	answer := bulk{make([]bulkResult, len(rows))}
	refuse := func(i int, err error) {
		p := a.problem(c, err)
		answer.Results[i] = bulkResult{Status: p.Status, Problem: &p}
	}
	var wanted []users.Enrollment
	var places []int // indexes of wanted in the request
	for i, row := range rows {
		e, err := bindEnrollment(row)
		if err != nil {
			refuse(i, err)
			continue
		}
		wanted, places = append(wanted, e), append(places, i)
	}
	done, err := a.use.Users.CreateAll(c.ctx, c.actor(), c.at(), wanted)
	if err != nil {
		return err
	}
	for n, d := range done {
		if d.Err != nil {
			refuse(places[n], d.Err)
			continue
		}
		answer.Results[places[n]] = bulkResult{Status: createdOrOK(d.Created), User: &enrolledUser{user: showMember(d.Member), Created: d.Created}}
	}
	return c.answer(http.StatusOK, answer)
}
