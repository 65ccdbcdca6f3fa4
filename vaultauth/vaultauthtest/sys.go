package vaultauthtest

import (
	"net/http"
	"time"
)

// health is the body of sys/health, its fields in the servers' order. Those
// that are pointers are Vault's alone.
type health struct {
	Initialized     bool   `json:"initialized"`
	Sealed          bool   `json:"sealed"`
	Standby         bool   `json:"standby"`
	PerfStandby     bool   `json:"performance_standby"`
	PerformanceMode string `json:"replication_performance_mode"`
	DRMode          string `json:"replication_dr_mode"`
	ServerTime      int64  `json:"server_time_utc"`
	Version         string `json:"version"`
	Enterprise      *bool  `json:"enterprise,omitempty"`
	ClusterName     string `json:"cluster_name,omitempty"`
	ClusterID       string `json:"cluster_id,omitempty"`
	EchoDuration    *int64 `json:"echo_duration_ms,omitempty"`
	ClockSkew       *int64 `json:"clock_skew_ms,omitempty"`
	CanaryAge       *int64 `json:"replication_primary_canary_age_ms,omitempty"`
}

// health answers 200 if the server is active, 429 on standby, 503 if sealed.
func (s *Server) health(c *call) *answer {
	switch {
	case c.Method != http.MethodGet && c.Method != http.MethodHead:
		return refusal(http.StatusMethodNotAllowed)
	case s.Product == OpenBao && c.Header.Get(namespaceHeader) != "":
		return refusal(http.StatusBadRequest, "operation unavailable in namespaces")
	}
	status, replication := http.StatusOK, "disabled"
	switch {
	case s.sealed:
		status, replication = http.StatusServiceUnavailable, "unknown"
	case s.standby:
		if ok := c.URL.Query().Get("standbyok"); ok != "true" && ok != "1" {
			status = http.StatusTooManyRequests
		}
	}
	h := health{
		Initialized: true, Sealed: s.sealed, Standby: s.sealed || s.standby,
		PerformanceMode: replication, DRMode: replication,
		ServerTime: time.Now().Unix(), Version: s.Product.version(),
	}
	if !s.sealed {
		h.ClusterName, h.ClusterID = s.clusterName(), s.cluster
	}
	if s.Product != OpenBao {
		h.Enterprise = new(bool)
		h.EchoDuration, h.ClockSkew, h.CanaryAge = new(int64), new(int64), new(int64)
	}
	return document(status, h)
}

// sealStatus answers what an operator asks before the unsealing.
func (s *Server) sealStatus() *answer {
	status := struct {
		Type         string `json:"type"`
		Initialized  bool   `json:"initialized"`
		Sealed       bool   `json:"sealed"`
		T            int    `json:"t"`
		N            int    `json:"n"`
		Progress     int    `json:"progress"`
		Nonce        string `json:"nonce"`
		Version      string `json:"version"`
		BuildDate    string `json:"build_date"`
		Migration    bool   `json:"migration"`
		ClusterName  string `json:"cluster_name,omitempty"`
		ClusterID    string `json:"cluster_id,omitempty"`
		RecoverySeal bool   `json:"recovery_seal"`
		StorageType  string `json:"storage_type,omitempty"`
	}{
		Type: "shamir", Initialized: true, Sealed: s.sealed, T: 1, N: 1,
		Version: s.Product.version(), BuildDate: "2026-01-01T00:00:00Z", StorageType: "inmem",
	}
	if !s.sealed {
		status.ClusterName, status.ClusterID = s.clusterName(), s.cluster
	}
	return document(http.StatusOK, status)
}

func (s *Server) clusterName() string { return "cluster-" + s.cluster[:8] }

// Seal seals the server: it answers 503 until Unseal. Tokens live on and
// expire meanwhile.
func (s *Server) Seal() { s.setSealed(true) }

// Unseal undoes Seal.
func (s *Server) Unseal() { s.setSealed(false) }

func (s *Server) setSealed(sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
}

// SetStandby makes the server a standby that knows of no active server, as
// during an election: sys/health answers 429 and all else 500. (One that
// knows of one passes requests on, which clients do not notice.)
func (s *Server) SetStandby(standby bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standby = standby
}
