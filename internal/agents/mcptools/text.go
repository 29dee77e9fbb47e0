package mcptools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// textOf returns the texts of a result. A placeholder says what else it has.
func (s *server) textOf(r *mcp.CallToolResult) (string, error) {
	if r.NeedsInput() {
		return "", errNeedsInput
	}
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, s.partOf(c))
	}
	text := strings.Join(parts, "\n")
	if len(parts) == 0 && r.StructuredContent != nil {
		if data, err := encode(r.StructuredContent); err == nil {
			text = string(data)
		}
	}
	if r.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// partOf returns the text of a part. Where the agent may read resources, it gets those in results too.
func (s *server) partOf(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return leftOut("an image", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return leftOut("a sound", c.MIMEType, len(c.Data))
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[an empty resource]"
		}
		if s.Resources {
			return contentsOf(c.Resource)
		}
		return leftOut("a resource", c.Resource.MIMEType, len(c.Resource.Text)+len(c.Resource.Blob))
	case *mcp.ResourceLink:
		if s.Resources {
			return fmt.Sprintf("[a link to a resource: %s reads %s]", agent.ReadResource, visible.Line(shorttext.Ellipsis(c.URI, maxURI)))
		}
		return leftOut("a link to a resource", c.MIMEType, len(c.URI))
	}
	return "[content of an unknown kind is left out]"
}

// leftOut stands for content that is not text.
func leftOut(what, kind string, size int) string {
	if kind = visible.Line(shorttext.Ellipsis(kind, 64)); kind != "" {
		kind = " (" + kind + ")"
	}
	return fmt.Sprintf("[%s%s of %d bytes is left out]", what, kind, size)
}

// readable returns a text without characters that nobody sees.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
