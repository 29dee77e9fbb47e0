package shown

import "testing"

// TestErrorInList: an error that a server puts into a list is that error.
func TestErrorInList(t *testing.T) {
	for body, want := range map[string]string{
		`[{"error":{"code":400,"message":"It fails.","status":"INVALID_ARGUMENT","thought":"hm"}}]`: `{"error":{"code":400,"message":"It fails.","status":"INVALID_ARGUMENT"}}`,
		` [ {"error":{"message":"a"}} , {"error":{"message":"b"}} ]`:                                `{"error":{"message":"a"}}`,
		`[]`: "", `["error"]`: "", `[[{"error":{"message":"a"}}]]`: "",
	} {
		shown, ok := Error([]byte(body))
		if string(shown) != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", body, shown, ok)
		}
	}
}
