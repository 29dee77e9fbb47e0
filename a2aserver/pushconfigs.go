package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/google/uuid"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

// A pushConfig is a push configuration as it is kept. Legacy says that a
// client of protocol 0.3 made it, which reads pushes in another form.
type pushConfig struct {
	Legacy bool            `json:"legacy,omitempty"`
	Config *a2a.PushConfig `json:"config"`
}

var _ push.ConfigStore = (*sender)(nil)

func configPrefix(task a2a.TaskID) []byte { return append([]byte(task), 0) }

func configKey(task a2a.TaskID, id string) []byte { return append(configPrefix(task), id...) }

// Save implements [push.ConfigStore]. It checks the URL. The address is checked
// again whenever something is sent.
func (p *sender) Save(ctx context.Context, task a2a.TaskID, config *a2a.PushConfig) (*a2a.PushConfig, error) {
	if config == nil {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "the push configuration is missing")
	}
	if err := p.guard.url(ctx, config.URL); err != nil {
		if u, ok := errors.AsType[unreachable](err); ok {
			p.log.Warn("a push URL was refused", "task", string(task), "host", u.host, "reason", u.reason)
		}
		return nil, a2a.NewError(a2a.ErrInvalidParams, err.Error())
	}
	if err := checkAuth(config); err != nil {
		return nil, a2a.NewError(a2a.ErrInvalidParams, err.Error())
	}
	c := *config
	c.TaskID = task
	if c.ID == "" {
		c.ID = uuid.NewString()
	}
	if len(c.ID) > 128 || strings.ContainsRune(c.ID, 0) {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "the id of a push configuration is longer than 128 bytes or has a zero byte")
	}
	data, err := json.Marshal(pushConfig{visitFrom(ctx).legacy, &c})
	if err != nil {
		return nil, err
	}
	err = p.store.update(visitFrom(ctx).caller, func(t tx) error {
		key := configKey(task, c.ID)
		if t.get(configsBucket, key) == nil && len(configsOf(t, task)) >= p.limits.Pushes {
			return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("the task has %d push configurations, which is the limit", p.limits.Pushes))
		}
		return t.put(configsBucket, key, data)
	})
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// checkAuth refuses credentials that could not be sent as a header.
func checkAuth(c *a2a.PushConfig) error {
	texts := []string{c.Token}
	if a := c.Auth; a != nil {
		switch strings.ToLower(a.Scheme) {
		case "bearer", "basic":
		default:
			return fmt.Errorf("the authentication scheme %.16q is not Bearer or Basic", a.Scheme)
		}
		texts = append(texts, a.Credentials)
	}
	for _, t := range texts {
		if len(t) > 8192 || strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("a token or credential is longer than 8192 characters, or has characters that a header cannot hold")
		}
	}
	return nil
}

func configsOf(t tx, task a2a.TaskID) (list []pushConfig) {
	_ = t.each(configsBucket, configPrefix(task), func(_, v []byte) error {
		var pc pushConfig
		if json.Unmarshal(v, &pc) == nil && pc.Config != nil {
			list = append(list, pc)
		}
		return nil
	})
	return list
}

// configs returns the configurations of a task of an owner.
func (p *sender) configs(owner string, task a2a.TaskID) (list []pushConfig, err error) {
	err = p.store.view(owner, func(t tx) error {
		list = configsOf(t, task)
		return nil
	})
	return list, err
}

// config returns one configuration.
func (p *sender) config(owner string, task a2a.TaskID, id string) (pushConfig, bool, error) {
	list, err := p.configs(owner, task)
	for _, c := range list {
		if c.Config.ID == id {
			return c, true, nil
		}
	}
	return pushConfig{}, false, err
}

// Get implements [push.ConfigStore].
func (p *sender) Get(ctx context.Context, task a2a.TaskID, id string) (*a2a.PushConfig, error) {
	c, ok, err := p.config(visitFrom(ctx).caller, task, id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, a2a.NewError(a2a.ErrTaskNotFound, "the task has no such push configuration")
	}
	return c.Config, nil
}

// List implements [push.ConfigStore].
func (p *sender) List(ctx context.Context, task a2a.TaskID) ([]*a2a.PushConfig, error) {
	caller := visitFrom(ctx).caller
	list, err := p.configs(caller, task)
	if errors.Is(err, transact.ErrUnreachable) {
		p.store.leases.lose(caller, task) // as in [store.Update]
	}
	out := []*a2a.PushConfig{}
	for _, c := range list {
		out = append(out, c.Config)
	}
	return out, err
}

// Delete implements [push.ConfigStore].
func (p *sender) Delete(ctx context.Context, task a2a.TaskID, id string) error {
	return p.store.update(visitFrom(ctx).caller, func(t tx) error {
		return t.delete(configsBucket, configKey(task, id))
	})
}

// DeleteAll implements [push.ConfigStore].
func (p *sender) DeleteAll(ctx context.Context, task a2a.TaskID) error {
	return p.store.update(visitFrom(ctx).caller, func(t tx) error {
		return dropPrefix(t, configsBucket, configPrefix(task))
	})
}
