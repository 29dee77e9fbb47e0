// Package agentfile has what the file of an agent may refer to: MCP servers, and agents
// that are reached by A2A.
package agentfile

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/mcptools"
)

// Dependencies returns what a command gives to the files of agents.
func Dependencies(getenv func(string) string, dialect func(name string) (*sotto.Grammar, error)) agent.Dependencies {
	return agent.Dependencies{Getenv: getenv, Dialect: dialect, MCP: mcptools.Open, Remote: remote}
}

func remote(r agent.RemoteAgent) (agent.Tool, error) {
	return a2aserver.Remote{Name: r.Name, Description: r.Description, URL: r.URL, Token: r.Token, Time: r.Timeout, Start: r.Start}.Tool()
}
