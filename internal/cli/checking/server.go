// Package checking is the frame of the commands that examine a server: which server that is,
// how the report is printed, and the status with which the command ends.
package checking

import (
	"errors"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/environment"
)

// A Server is the model server to examine: the argument URL, or the flag --upstream that
// other commands have for a model server.
type Server struct {
	URL      string `arg:"" optional:"" name:"URL" help:"The base URL of the server, such as http://localhost:11434 or https://api.example/v1."`
	Upstream string `placeholder:"URL" setting:"SOTTO_UPSTREAM" help:"The same as the argument URL."`
}

// AfterApply takes the flag or the environment variable if there is no argument.
func (s *Server) AfterApply(ctx *kong.Context) error {
	switch {
	case s.URL == "":
		s.URL = s.Upstream
	case environment.Given(ctx, "upstream") && s.Upstream != s.URL:
		return errors.New("URL and --upstream name two servers: give one")
	}
	return nil
}
