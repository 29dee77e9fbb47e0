package servecmd

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/console"
)

// healthOf is what the console shows of the gateway beside it.
func healthOf(p *parts, g *gateway.Handler) *console.Health {
	return &console.Health{
		Upstreams: func() (list []console.Upstream) {
			for _, u := range p.inUse.Load().upstreams {
				list = append(list, console.Upstream{Name: u.Name, URL: cmp.Or(u.URL, p.at.upstream)})
			}
			return list
		},
		Reach: func(ctx context.Context, up *url.URL) error {
			port := cmp.Or(up.Port(), map[string]string{"https": "443"}[up.Scheme], "80")
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(up.Hostname(), port))
			if err != nil {
				return err
			}
			return conn.Close()
		},
		Counters: func() []console.Counter { return countersOf(p.metrics) },
		Starts: func() (list []console.LearnedStart) {
			for _, l := range g.Learned().Starts() {
				list = append(list, console.LearnedStart{Upstream: l.Upstream, Model: l.Model, Switch: l.Switch, Start: l.Start(), Native: l.Native, Seen: l.Seen})
			}
			return list
		},
		Forget:   g.Learned().Forget,
		Settings: func() string { return string(p.inUse.Load().yaml) },
	}
}

// countersOf are the values of counters and gauges that are not zero, and how often
// and how much on average was measured by the others.
func countersOf(metrics prometheus.Gatherer) (list []console.Counter) {
	families, _ := metrics.Gather() // what could be gathered
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			c := console.Counter{Name: f.GetName(), Help: f.GetHelp(), Labels: strings.Join(labels, " ")}
			if h := m.GetHistogram(); h != nil {
				if c.Value = float64(h.GetSampleCount()); c.Value > 0 {
					list = append(list, console.Counter{Name: c.Name + " (mean)", Help: c.Help, Labels: c.Labels, Value: h.GetSampleSum() / c.Value})
				}
				c.Name += " (count)"
			} else {
				c.Value = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
			if c.Value != 0 {
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b console.Counter) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
