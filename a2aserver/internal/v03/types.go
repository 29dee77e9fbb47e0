package v03

import (
	"encoding/json"
	"time"
)

// The messages of the protocol as they are on the wire.
type (
	part struct {
		Kind     string          `json:"kind"` // text, data, file
		Text     *string         `json:"text,omitempty"`
		Data     json.RawMessage `json:"data,omitempty"` // an object
		File     *file           `json:"file,omitempty"`
		Metadata map[string]any  `json:"metadata,omitempty"`
	}
	file struct {
		MimeType string `json:"mimeType,omitempty"`
		Name     string `json:"name,omitempty"`
		Bytes    []byte `json:"bytes,omitempty"` // base64
		URI      string `json:"uri,omitempty"`
	}
	message struct {
		Kind           string         `json:"kind"` // message
		ID             string         `json:"messageId"`
		ContextID      string         `json:"contextId,omitempty"`
		TaskID         string         `json:"taskId,omitempty"`
		Role           string         `json:"role"`
		Parts          []part         `json:"parts"`
		ReferenceTasks []string       `json:"referenceTaskIds,omitempty"`
		Extensions     []string       `json:"extensions,omitempty"`
		Metadata       map[string]any `json:"metadata,omitempty"`
	}
	status struct {
		State     string     `json:"state"`
		Message   *message   `json:"message,omitempty"`
		Timestamp *time.Time `json:"timestamp,omitempty"`
	}
	artifact struct {
		ID          string         `json:"artifactId"`
		Name        string         `json:"name,omitempty"`
		Description string         `json:"description,omitempty"`
		Parts       []part         `json:"parts"`
		Extensions  []string       `json:"extensions,omitempty"`
		Metadata    map[string]any `json:"metadata,omitempty"`
	}
	task struct {
		Kind      string         `json:"kind"` // task
		ID        string         `json:"id"`
		ContextID string         `json:"contextId"`
		Status    status         `json:"status"`
		Artifacts []*artifact    `json:"artifacts,omitempty"`
		History   []*message     `json:"history,omitempty"`
		Metadata  map[string]any `json:"metadata,omitempty"`
	}
	statusUpdate struct {
		Kind      string         `json:"kind"` // status-update
		TaskID    string         `json:"taskId"`
		ContextID string         `json:"contextId"`
		Status    status         `json:"status"`
		Final     bool           `json:"final"`
		Metadata  map[string]any `json:"metadata,omitempty"`
	}
	artifactUpdate struct {
		Kind      string         `json:"kind"` // artifact-update
		TaskID    string         `json:"taskId"`
		ContextID string         `json:"contextId"`
		Artifact  *artifact      `json:"artifact"`
		Append    bool           `json:"append,omitempty"`
		LastChunk bool           `json:"lastChunk,omitempty"`
		Metadata  map[string]any `json:"metadata,omitempty"`
	}
)

// The parameters of the methods.
type (
	sendParams struct {
		Message  *message       `json:"message"`
		Config   *sendConfig    `json:"configuration,omitempty"`
		Metadata map[string]any `json:"metadata,omitempty"`
	}
	sendConfig struct {
		AcceptedOutputModes []string    `json:"acceptedOutputModes,omitempty"`
		Blocking            *bool       `json:"blocking,omitempty"`
		HistoryLength       *int        `json:"historyLength,omitempty"`
		Push                *pushConfig `json:"pushNotificationConfig,omitempty"`
	}
	taskParams struct {
		ID            string         `json:"id"`
		HistoryLength *int           `json:"historyLength,omitempty"`
		ConfigID      string         `json:"pushNotificationConfigId,omitempty"`
		Metadata      map[string]any `json:"metadata,omitempty"`
	}
	pushConfig struct {
		ID    string    `json:"id,omitempty"`
		URL   string    `json:"url"`
		Token string    `json:"token,omitempty"`
		Auth  *pushAuth `json:"authentication,omitempty"`
	}
	pushAuth struct {
		Schemes     []string `json:"schemes"`
		Credentials string   `json:"credentials,omitempty"`
	}
	taskPushConfig struct {
		TaskID string     `json:"taskId"`
		Config pushConfig `json:"pushNotificationConfig"`
	}
)
