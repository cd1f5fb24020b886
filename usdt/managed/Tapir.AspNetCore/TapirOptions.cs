// SPDX-License-Identifier: MIT
namespace Tapir.AspNetCore;

/// <summary>Of <see cref="TapirEndpoints.MapTapir"/>.</summary>
public sealed class TapirOptions
{
    /// <summary>
    /// Answers everybody who reaches the endpoint. Without it, and without authorization of the endpoint
    /// (<c>RequireAuthorization</c>), only callers from loopback are answered.
    /// </summary>
    public bool AllowRemote { get; set; }
}
