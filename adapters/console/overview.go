package console

// overviewView is the state of an organization's notifications.
type overviewView struct {
	Steps  []step // to the first message; none: it was sent
	Alerts []alert
	Chart  chartView
	First  bool // shown: only on the first page of the organization's projects
	Quiet  bool // nothing happened in all that time
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
