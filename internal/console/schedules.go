package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
)

// Schedules are those of the agents of a gateway.
type Schedules struct {
	// Status returns what is known of them.
	Status func() ([]schedule.Status, error)
	// Record is the identity of the record that this gateway writes; "" if it writes none.
	Record string
}

// A schedulesData is what the page of schedules shows.
type schedulesData struct {
	V         int               `json:"v"`
	Schedules []schedule.Status `json:"schedules"`
	Now       time.Time         `json:"-"`
	// Record is the identity of the record whose runs the page leads to; "" if it leads to none.
	Record string `json:"-"`
}

func schedulesScreen() Screen {
	return Screen{
		Path: "schedules", Key: "d", Icon: "M10 3a7 7 0 1 0 0 14a7 7 0 0 0 0-14M10 6v4l3 2",
		Routes: map[string]Handler{"": schedules},
		shown:  func(c *Config) bool { return c.Schedules != nil },
	}
}

// schedules lists the schedules of the agents, with their next times and their last runs.
func schedules(c *Console, _ *http.Request) (Answer, error) {
	list, err := c.config.Schedules.Status()
	if err != nil {
		return Answer{}, err
	}
	d := schedulesData{V: 1, Schedules: list, Now: c.config.Now()}
	if slices.ContainsFunc(c.screens(), func(s Screen) bool { return s.Path == "runs" }) {
		d.Record = c.config.Schedules.Record
	}
	return Answer{Template: "schedules", Title: Word("screen.schedules"), Crumbs: []Crumb{{Name: Word("screen.schedules")}}, Data: d}, nil
}
