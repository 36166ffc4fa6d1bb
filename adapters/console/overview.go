package console

// overviewView is the state of an organization's notifications.
type overviewView struct {
	Steps  []step // towards the first message; none: one was sent
	Alerts []alert
	Chart  chartView
	First  bool // show the overview: only on the first page of projects
	Quiet  bool // there is no activity in the whole period
}

func (c call) overview(org string) (overviewView, error) {
	found, err := c.console.use.Overviews.Overview(c.ctx, c.at())
	v := overviewView{Alerts: c.alerts(org, found.Attention), First: true, Quiet: true}
	if err != nil {
		return v, err
	}
	v.Chart = c.chart(found)
	if found.Onboarding != nil {
		v.Steps = c.steps(*found.Onboarding)
	}
	for _, d := range found.Days {
		v.Quiet = v.Quiet && d.Occurrences == 0 && d.Sent() == 0 && d.Failed == 0 && d.Skipped == 0
	}
	return v, nil
}
