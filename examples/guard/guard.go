// Command guard is a guard for sotto serve --guard http://localhost:9000. It keeps
// thoughts about a project from clients, and ends an answer that names it.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"regexp"
)

var project = regexp.MustCompile(`(?i)\bproject\s+heron\b`)

func judge(w http.ResponseWriter, r *http.Request) {
	var piece struct{ Channel, Before, Text string }
	if err := json.NewDecoder(r.Body).Decode(&piece); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	verdict := map[string]string{"action": "pass"}
	if project.MatchString(piece.Before + piece.Text) { // a name may be divided between two pieces
		verdict["action"], verdict["reason"] = "end", "it names an internal project"
		if piece.Channel == "reasoning" {
			verdict["action"] = "cut"
		}
	}
	_ = json.NewEncoder(w).Encode(verdict)
}

func main() {
	log.Fatal(http.ListenAndServe("localhost:9000", http.HandlerFunc(judge)))
}
