package agent

import (
	"reflect"
	"time"
)

// LimitsConfig is [Limits] as keys of the file.
type LimitsConfig struct {
	Invocations  int           `yaml:"invocations"`
	Calls        int           `yaml:"calls"`
	Retries      *int          `yaml:"retries"`
	Attempts     int           `yaml:"attempts"`
	RetryWait    time.Duration `yaml:"retry-wait"`
	ReplyTime    time.Duration `yaml:"reply-time"`
	ToolTime     time.Duration `yaml:"tool-time"`
	Reply        int           `yaml:"reply"`
	Arguments    int           `yaml:"arguments"`
	Result       int           `yaml:"result"`
	FailedCycles int           `yaml:"failed-cycles"`
	Tokens       int           `yaml:"tokens"`
	Time         time.Duration `yaml:"time"`
	Cost         float64       `yaml:"cost"`
	Outage       time.Duration `yaml:"outage"`
}

func (c LimitsConfig) limits() Limits {
	l := Limits{
		Invocations: c.Invocations, Calls: c.Calls, Attempts: c.Attempts, RetryWait: c.RetryWait, ReplyTime: c.ReplyTime,
		ToolTime: c.ToolTime, Reply: c.Reply, Arguments: c.Arguments, Result: c.Result, FailedCycles: c.FailedCycles,
		Tokens: int64(c.Tokens), Time: c.Time, Cost: c.Cost, Outage: c.Outage,
	}
	if c.Retries != nil {
		l.Retries = *c.Retries
		if l.Retries == 0 {
			l.Retries = -1
		}
	}
	return l
}

// limits reports negative bounds. The bound of failed cycles may be negative, which
// removes it.
func (b *builder) limits(path string, l LimitsConfig) {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Tag.Get("yaml"), reflect.Indirect(v.Field(i))
		if f.IsValid() && (f.CanInt() && f.Int() < 0 || f.CanFloat() && f.Float() < 0) && name != "failed-cycles" {
			b.fault(path+"."+name, "is negative: want 1 or more; leave it out for the default")
		}
	}
}
